// SPDX-License-Identifier: MIT
// process.hpp: runs a program without a shell.
#pragma once

#include <string>
#include <vector>

#include "rooms.hpp"

namespace cke::tool {

struct process_result {
  int status = 0;      // exit status; 128 + the signal where one ended it
  std::string output;  // stdout and stderr together, the first 4 MiB
};

// arguments[0] is the program's path; its stdin is empty. Throws Error{file} where it cannot be started.
process_result run_process(const std::vector<std::string>& arguments);

// The path of a program as the shell would find it; empty: there is none.
std::string find_program(const std::string& name);

}  // namespace cke::tool

// SPDX-License-Identifier: MIT
// process.hpp: runs a program without a shell.
#pragma once

#include <string>
#include <vector>

#include "rooms.hpp"

namespace cke::tool {

struct process_result {
  int status = 0;      // exit status, or 128 + the signal that ended it
  std::string output;  // stdout and stderr together, the first 4 MiB
};

// arguments[0] is the program's path; stdin is empty. Throws Error{file} if it cannot be started.
process_result run_process(const std::vector<std::string>& arguments);

// The path of a program in the shell's search path; empty if there is none.
std::string find_program(const std::string& name);

// Empty where it is not set.
std::string environment(const char* variable);

}  // namespace cke::tool

// SPDX-License-Identifier: MIT
// option_table.hpp: the commands and their options as plain data, for completion scripts and the manual page.
#pragma once

#include <string>
#include <vector>

#include "rooms.hpp"

namespace CLI {
class App;
}

namespace cke::tool {

struct option_words {
  std::vector<std::string> names;  // with dashes, short ones first; a positional argument: its name alone
  std::string about;
  std::string value;                 // what stands after it; empty: nothing
  std::vector<std::string> choices;  // the values that it takes, if they are few
  bool is_file = false;
  bool positional = false;
};
struct command_words {
  std::string name, about, footer;
  std::vector<option_words> options;  // positional arguments first
};

// The options of the program itself come first, under its name.
std::vector<command_words> table_of(const CLI::App& app);

// A script that completes commands, options and their values in bash, zsh or fish.
std::string completion_script(const std::vector<command_words>& all, const std::string& shell);

// A page of section 1, in the macros of man(7).
std::string manual_page(const std::vector<command_words>& all, const std::string& version);

}  // namespace cke::tool

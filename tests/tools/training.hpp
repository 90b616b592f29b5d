// SPDX-License-Identifier: MIT
// training.hpp: what tests of cke train have in common.
#pragma once

#include <nlohmann/json.hpp>
#include <sstream>

#include "command.hpp"

namespace command {

using nlohmann::json;

// The lines of a log.
inline std::vector<json> lines_of(const fs::path& file) {
  std::vector<json> all;
  std::istringstream in(content(file));
  for (std::string line; std::getline(in, line);) all.push_back(json::parse(line));
  return all;
}
inline void check_refused(const std::vector<std::string>& words, std::string_view text) {
  const result r = command::run_cke(words);
  CHECK_MESSAGE((r.status != 0 && r.err.find(text) != r.err.npos), show(r));
}

}  // namespace command

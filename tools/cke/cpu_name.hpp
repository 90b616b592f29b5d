// SPDX-License-Identifier: MIT
// cpu_name.hpp: what this machine's cpu calls itself.
#pragma once

#include <algorithm>
#include <fstream>
#include <string>

#include "rooms.hpp"

namespace cke::tool {

inline std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  return "unknown";
}

}  // namespace cke::tool

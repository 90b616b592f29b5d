// SPDX-License-Identifier: MIT
// cgroup.hpp: what a container allows this process: the limits of its cgroup and of all parents.
#pragma once

#include <charconv>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "../core/types.hpp"

namespace cke {

// The first line of `file` in every cgroup from the process's own up to the root, own first.
// controller: a version 1 hierarchy ("cpu", "memory"), or "" for version 2. Absent files are left
// out. root: where "/" is, for tests.
inline std::vector<std::string> cgroup_lines(std::string_view controller, const std::string& file,
                                             const std::string& root = {}) {
  std::vector<std::string> found;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // id:controller,controller:/path
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string held = "," + line.substr(first + 1, second - first - 1) + ",";
    if (held.find("," + std::string(controller) + ",") == std::string::npos) continue;
    const std::string mount = root + "/sys/fs/cgroup/" + std::string(controller);
    // Inside a container the path may be the host's and absent here; the mount's root then holds
    // our limit.
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      std::ifstream values(mount + path + "/" + file);
      if (std::string value; std::getline(values, value)) found.push_back(value);
      if (path.rfind('/') == std::string::npos) break;
    }
  }
  return found;
}

// A whole non-negative number and nothing else; "max" and "-1" mean no limit and give nothing.
inline std::optional<u64> cgroup_number(std::string_view s) {
  u64 value{};
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc{} || end != s.data() + s.size()) return std::nullopt;
  return value;
}

}  // namespace cke

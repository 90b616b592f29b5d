// SPDX-License-Identifier: MIT
// cgroup.hpp: the limits of this process's cgroup and of all its parents.
#pragma once

#include <charconv>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "../core/concat.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// The first line of a text file; empty if there is no such file.
CKE_OUT_OF_LINE inline std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The first line of `file` in every cgroup from the process's own up to the root, own first.
// controller: a version 1 hierarchy ("cpu", "memory"), or "" for version 2. Files that do not exist are skipped. root:
// replaces "/" in tests.
CKE_OUT_OF_LINE inline std::vector<std::string> cgroup_lines(std::string_view controller, std::string_view file,
                                                             std::string_view root = {}) {
  std::vector<std::string> found;
  const std::string ours = concat({",", controller, ","});
  std::ifstream groups(concat({root, "/proc/self/cgroup"}));
  for (std::string line; std::getline(groups, line);) {  // id:controller,controller:/path
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto held = concat({",", std::string_view(line).substr(first + 1, second - first - 1), ","});
    if (held.find(ours) == std::string::npos) continue;
    // Inside a container the path may be the host's and not exist here; the limit is then at the root of the mount.
    for (std::string_view path = std::string_view(line).substr(second + 1);;) {
      std::string value = first_line(concat({root, "/sys/fs/cgroup/", controller, path, "/", file}));
      if (!value.empty()) found.push_back(std::move(value));
      const auto parent = path.rfind('/');
      if (parent == std::string_view::npos) break;
      path = path.substr(0, parent);
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

}  // namespace cke::runtime
CKE_COLD_END

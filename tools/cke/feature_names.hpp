// SPDX-License-Identifier: MIT
// feature_names.hpp: the features that code needs as words, which a program of one model carries beside its unit.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <cke/core/concat.hpp>

#include "machine_features.hpp"
#include "rooms.hpp"

namespace cke::tool {

// What a compiler's code may use, with spaces between the names. `predefined`: its macros, in lines "#define NAME 1".
inline std::string features_of_code(const std::string& predefined) {
  const std::string lines = '\n' + predefined;
  const auto has = [&](const char* macro) { return lines.find(concat({"\n#define ", macro, " 1\n"})) != lines.npos; };
  const bool by_clang = has("__clang__");
  std::string names;
  for (const machine_feature& f : machine_features)
    if (is_used(f.name, by_clang) && has(f.macro)) names += concat({names.empty() ? "" : " ", f.name});
  return names;
}

// Those of the names that a cpu lacks, or that nobody knows here, with commas between them. `cpu`: features_of_cpu().
inline std::string lacking(std::string_view names, std::uint64_t cpu) {
  std::string missing;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(' '));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
    bool there = false;
    for (std::size_t row = 0; row < std::size(machine_features); ++row)
      there = there || (machine_features[row].name == name && (cpu >> row & 1) != 0);
    if (!there) missing += concat({missing.empty() ? "" : ", ", name});
  }
  return missing;
}

}  // namespace cke::tool

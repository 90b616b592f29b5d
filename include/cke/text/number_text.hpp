// SPDX-License-Identifier: MIT
// number_text.hpp: writes floats as the shortest text that parses back to them.
#pragma once

#include <charconv>
#include <span>
#include <string>
#include <string_view>

namespace cke::text {

// "0.5, -1e-07, 3"
inline std::string numbers_text(std::span<const float> numbers, std::string_view between) {
  std::string out;
  for (const float x : numbers) {
    char text[32];
    if (!out.empty()) out += between;
    out.append(text, std::to_chars(text, text + sizeof text, x).ptr);
  }
  return out;
}

}  // namespace cke::text

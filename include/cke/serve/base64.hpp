// SPDX-License-Identifier: MIT
// base64.hpp: base64 as RFC 4648 has it, and nothing else: no white space, whole groups, no bits that are lost.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "../core/types.hpp"

namespace cke::serve {

namespace detail {

// The six bits of a character; 64: it is not one of the alphabet.
constexpr u32 base64_bits(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<u32>(c - 'A');
  if (c >= 'a' && c <= 'z') return static_cast<u32>(c - 'a') + 26;
  if (c >= '0' && c <= '9') return static_cast<u32>(c - '0') + 52;
  return c == '+' ? 62 : c == '/' ? 63 : 64;
}

}  // namespace detail

// Bytes that a base64 text of this size stands for, at most.
constexpr std::size_t base64_bytes(std::string_view text) { return text.size() / 4 * 3; }

// Absent: the text is not base64.
inline std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out;
  out.reserve(base64_bytes(text));
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const bool last = at + 4 == text.size();
    const std::size_t padding = !last || text[at + 3] != '=' ? 0 : text[at + 2] == '=' ? 2 : 1;
    u32 group = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const u32 bits = i < 4 - padding ? detail::base64_bits(text[at + i]) : 0;
      if (bits == 64) return std::nullopt;
      group = group << 6 | bits;
    }
    const u32 lost = static_cast<u32>(padding) * 8;
    if (group & ((1u << lost) - 1)) return std::nullopt;
    for (std::size_t i = 0; i < 3 - padding; ++i) out += static_cast<char>(group >> (16 - 8 * i) & 255);
  }
  return out;
}

}  // namespace cke::serve

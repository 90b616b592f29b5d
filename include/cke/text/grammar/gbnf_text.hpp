// SPDX-License-Identifier: MIT
// gbnf_text.hpp: writes pieces of GBNF: literals, character classes, and both inside a JSON string.
#pragma once

#include "utf8_ranges.hpp"

CKE_COLD_BEGIN
namespace cke::text::gbnf {

// A character as spelled in a class or literal.
inline std::string escaped(u32 code) {
  const bool plain = (code >= '0' && code <= '9') || (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') ||
      code == ' ' || code == '_';
  if (plain) return std::string(1, static_cast<char>(code));
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string text = code < 0x100 ? "\\x" : "\\U";
  for (u32 shift = code < 0x100 ? 8 : 32; shift > 0; shift -= 4) text += digits[code >> (shift - 4) & 15];
  return text;
}
// A literal that matches exactly `text`, which is UTF-8.
inline std::string literal(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const code_point c = code_point_at(text, at);
    out += escaped(c.value < stray_byte ? c.value : 0xFFFD);
    at += c.size;
  }
  return out += '"';
}
inline std::string any_of(const std::vector<code_range>& ranges) {
  std::string out = "[";
  for (const auto [first, last] : ranges) {
    out += escaped(first);
    if (last > first) (out += '-') += escaped(last);
  }
  return out += ']';
}
// A single item that matches any of several.
inline std::string either(const std::vector<std::string>& items) {
  if (items.size() == 1) return items[0];
  std::string out = "(";
  for (const std::string& item : items) (out += out.size() > 1 ? " | " : "") += item;
  return out += ')';
}

// Characters that a JSON string must escape.
inline const std::vector<code_range> json_specials{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}, {0x7F, 0x7F}};

// A character of `ranges` as a JSON string spells it.
inline std::string json_any_of(const std::vector<code_range>& ranges) {
  std::vector<code_range> plain;
  std::vector<std::string> spelled;
  for (const auto [first, last] : sorted_ranges(ranges)) {
    u32 next = first;
    for (const auto [from, to] : sorted_ranges(json_specials)) {
      if (to < next || from > last) continue;
      if (from > next) plain.push_back({next, from - 1});
      for (u32 c = std::max(from, next); c <= std::min(to, last); ++c) {
        constexpr std::string_view short_ones = "\"\\\b\f\n\r\t", letters = "\"\\bfnrt";
        const std::size_t at = short_ones.find(static_cast<char>(c));
        std::string text = "\\";
        if (at != short_ones.npos) text += letters[at];
        else ((text += "u00") += static_cast<char>('0' + (c >> 4))) += "0123456789abcdef"[c & 15];
        spelled.push_back(literal(text));
      }
      next = std::max(next, to + 1);
    }
    if (next <= last) plain.push_back({next, last});
  }
  if (!plain.empty()) spelled.insert(spelled.begin(), any_of(plain));
  return spelled.empty() ? "[]" : either(spelled);
}

}  // namespace cke::text::gbnf
CKE_COLD_END

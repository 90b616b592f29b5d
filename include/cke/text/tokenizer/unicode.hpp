// SPDX-License-Identifier: MIT
// unicode.hpp: decodes UTF-8 that may be invalid, and classifies code points.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>

#include "unicode_tables.hpp"

CKE_COMPILED_ONCE
namespace cke::text {

// ---- UTF-8 ----

enum class utf8_state : u8 { valid, invalid, truncated };

// One step through a text: `size` bytes that are a code point (valid), can never become one (invalid), or are cut off
// by the end of the text (truncated). An invalid step is Unicode's "maximal subpart", so that each becomes one U+FFFD.
struct utf8_step {
  u32 code;
  u32 size;
  utf8_state state;
};

// text must not be empty.
CKE_OUT_OF_LINE constexpr utf8_step utf8_next(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<u8>(text[i]); };
  const u32 lead = byte(0);
  if (lead < 0x80) return {lead, 1, utf8_state::valid};
  if (lead < 0xC2 || lead > 0xF4) return {0, 1, utf8_state::invalid};
  const u32 size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The range of the second byte excludes overlong forms, surrogates and code points past U+10FFFF.
  u32 low = lead == 0xE0 ? 0xA0u : lead == 0xF0 ? 0x90u : 0x80u;
  u32 high = lead == 0xED ? 0x9Fu : lead == 0xF4 ? 0x8Fu : 0xBFu;
  u32 code = lead & (0x7Fu >> size);
  for (u32 i = 1; i < size; ++i) {
    if (i == text.size()) return {0, i, utf8_state::truncated};
    if (byte(i) < low || byte(i) > high) return {0, i, utf8_state::invalid};
    code = code << 6 | (byte(i) & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return {code, size, utf8_state::valid};
}

// An invalid byte is represented by a value past the last code point.
inline constexpr u32 stray_byte = 0x110000;

struct code_point {
  u32 value;
  u32 size;  // bytes
};

constexpr code_point code_point_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<u8>(text[at]);
  if (lead < 0x80) return {lead, 1};
  const utf8_step step = utf8_next(text.substr(at));
  if (step.state != utf8_state::valid) return {stray_byte + lead, 1};
  return {step.code, step.size};
}

// The code point that ends at `end`, which must be a boundary and not 0.
constexpr code_point code_point_before(std::string_view text, std::size_t end) {
  for (u32 size = 4; size > 1; --size) {
    if (size > end) continue;
    const code_point c = code_point_at(text.substr(0, end), end - size);
    if (c.size == size) return c;
  }
  return code_point_at(text.substr(0, end), end - 1);
}

inline void append_utf8(std::string& out, u32 code) {
  const auto put = [&](u32 byte) { out += static_cast<char>(byte); };
  const auto tail = [&](u32 shift) { put(0x80 | (code >> shift & 0x3F)); };
  if (code >= stray_byte) {
    put(code - stray_byte);
  } else if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6), tail(0);
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12), tail(6), tail(0);
  } else {
    put(0xF0 | code >> 18), tail(12), tail(6), tail(0);
  }
}

// ---- classes ----

// digit: \p{Nd} and \p{Nl}; number: the rest of \p{N}; word: the rest of \w.
enum class char_class : u8 { other, space, letter, mark, digit, number, word };

namespace detail {

CKE_OUT_OF_LINE constexpr char_class search_class(u32 code) {
  using unicode_data::class_runs;
  if (code >= stray_byte) return char_class::other;
  const u32* after = std::upper_bound(std::begin(class_runs), std::end(class_runs), code << 3 | 7);
  return static_cast<char_class>(after[-1] & 7);
}

inline constexpr auto near_classes = [] {
  std::array<char_class, 0x100> table{};
  const u32* run = unicode_data::class_runs;
  for (u32 code = 0; code < table.size(); ++code) {
    if (run[1] >> 3 == code) ++run;
    table[code] = static_cast<char_class>(*run & 7);
  }
  return table;
}();

}  // namespace detail

constexpr char_class class_of(u32 code) {
  return code < detail::near_classes.size() ? detail::near_classes[code] : detail::search_class(code);
}

constexpr bool is_letter(char_class c) { return c == char_class::letter; }                            // \p{L}
constexpr bool is_number(char_class c) { return c == char_class::digit || c == char_class::number; }  // \p{N}
constexpr bool is_space(char_class c) { return c == char_class::space; }                              // \s
constexpr bool is_word(char_class c) {                                                                // \w
  return c != char_class::other && c != char_class::space && c != char_class::number;
}

}  // namespace cke::text

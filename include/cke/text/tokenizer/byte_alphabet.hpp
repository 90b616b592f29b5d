// SPDX-License-Identifier: MIT
// byte_alphabet.hpp: GPT-2's printable spelling of bytes, which files use for byte-level tokens.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "unicode.hpp"

CKE_COLD_BEGIN
namespace cke::text {

// Printable Latin-1 characters stand for themselves; the other 68 bytes are, in order, U+0100 and up ("Ġ": space).
inline constexpr auto byte_alphabet = [] {
  std::array<u16, 256> codes{};
  u16 next = 0x100;
  for (u16 b = 0; b < 256; ++b) {
    const bool visible = (b >= '!' && b <= '~') || (b >= 0xA1 && b != 0xAD);
    codes[b] = visible ? b : next++;
  }
  return codes;
}();

// Replaces the characters by the bytes that they stand for; returns false and changes nothing if one stands for none.
inline bool from_byte_alphabet(std::string& text) {
  static constexpr auto bytes = [] {
    std::array<i32, 0x144> by_code{};
    by_code.fill(-1);
    for (i32 b = 0; b < 256; ++b) by_code[byte_alphabet[static_cast<u32>(b)]] = b;
    return by_code;
  }();
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const code_point c = code_point_at(text, at);
    if (c.value >= bytes.size() || bytes[c.value] < 0) return false;
    out += static_cast<char>(bytes[c.value]);
    at += c.size;
  }
  text = std::move(out);
  return true;
}

inline std::string to_byte_alphabet(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const u32 code = byte_alphabet[static_cast<unsigned char>(c)];
    if (code >= 0x80) out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(code >= 0x80 ? 0x80 | (code & 0x3F) : code);
  }
  return out;
}

}  // namespace cke::text
CKE_COLD_END

// SPDX-License-Identifier: MIT
// nibbles.hpp: 32 k of 32 rows in 4 bits each: the 4-bit formats, and the low bits of wider ones.
#pragma once

#include <array>
#include <initializer_list>

#include "format.hpp"

namespace cke::kernels {

// [32 / lanes][4 words][lanes][4 bytes]: byte b of word j holds k = 4 j + b low and 16 more high,
// so that a register of words becomes two registers of codes.
template <class Isa> struct nibbles {
  static constexpr u32 bytes = unit_rows * 16;

  static constexpr u32 word(u32 row, u32 j) { return ((row / Isa::lanes * 4 + j) * Isa::lanes + row % Isa::lanes) * 4; }
  // Packs 32 bytes of a file that hold k = 0..31 in the nibble at `shift`.
  static void pack(std::byte* out, u32 row, const std::byte* in, u32 shift) {
    for (u32 j = 0; j < 4; ++j) {
      const u32 low = read<u32>(in + 4 * j) >> shift & 0x0f0f0f0fu;
      write(out + word(row, j), low | (read<u32>(in + 16 + 4 * j) >> shift & 0x0f0f0f0fu) << 4);
    }
  }
  // Takes 16 bytes of a file that are already such words.
  static void take(std::byte* out, u32 row, const std::byte* in) {
    for (u32 j = 0; j < 4; ++j) write(out + word(row, j), read<u32>(in + 4 * j));
  }
  static u32 get(const std::byte* in, u32 row, u32 k) {
    return read<u8>(in + word(row, k % 16 / 4) + k % 4) >> k / 16 * 4 & 15u;
  }
};

// All words of a group as registers 0..7 of codes 0..15.
template <class Isa>
CKE_INLINE void load_nibbles(const std::byte* in, u32 group, simd::vi32<Isa> (&codes)[8]) {
#pragma GCC unroll 4
  for (u32 j = 0; j < 4; ++j) {
    const simd::vi32<Isa> both = load_words<Isa>(in, 4, group, j);
    codes[j] = simd::bit_field<Isa, 0, 4, 0>(both);
    codes[j + 4] = simd::bit_field<Isa, 4, 4, 0>(both);
  }
}

// The values of the 16 nibbles as bytes, four times, because a register looks up in each 16 by itself.
using nibble_table = std::array<u8, 64>;
constexpr nibble_table table_of(std::initializer_list<int> values, int bias) {
  nibble_table t{};
  for (u32 i = 0; i < t.size(); ++i) t[i] = static_cast<u8>(values.begin()[i % 16] + bias);
  return t;
}
template <class Isa>
CKE_INLINE void load_nibbles(const std::byte* in, u32 group, const nibble_table& table, simd::vi32<Isa> (&codes)[8]) {
  const auto values = simd::vi32<Isa>::load_unaligned(reinterpret_cast<const i32*>(table.data()));
#pragma GCC unroll 4
  for (u32 j = 0; j < 4; ++j) {
    const simd::vi32<Isa> both = load_words<Isa>(in, 4, group, j);
    codes[j] = simd::lookup_nibble<Isa>(values, both);
    codes[j + 4] = simd::lookup_nibble<Isa>(values, both >> 4);
  }
}

}  // namespace cke::kernels

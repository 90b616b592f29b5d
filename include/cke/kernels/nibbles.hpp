// SPDX-License-Identifier: MIT
// nibbles.hpp: 32 k of 32 rows in 4 bits each, as the 4-bit formats and the low bits of wider ones
// are kept.
#pragma once

#include "format.hpp"

namespace cke::kernels {

// [32 / lanes][4 words][lanes][4 bytes]: byte b of word j holds k = 4 j + b low and 16 more high,
// so that a register of words becomes two registers of codes with a shift and two masks.
template <class Isa> struct nibbles {
  static constexpr u32 bytes = unit_rows * 16;

  static constexpr u32 word(u32 row, u32 j) {
    return ((row / Isa::lanes * 4 + j) * Isa::lanes + row % Isa::lanes) * 4;
  }
  // From 32 bytes of a file that hold k = 0..31 in the nibble at `shift`.
  static void pack(std::byte* out, u32 row, const std::byte* in, u32 shift) {
    for (u32 j = 0; j < 4; ++j) {
      const u32 low = read<u32>(in + 4 * j) >> shift & 0x0f0f0f0fu;
      write(out + word(row, j), low | (read<u32>(in + 16 + 4 * j) >> shift & 0x0f0f0f0fu) << 4);
    }
  }
  static u32 get(const std::byte* in, u32 row, u32 k) {
    return read<u8>(in + word(row, k % 16 / 4) + k % 4) >> k / 16 * 4 & 15u;
  }
};

// Word j of every row of a group, and all words as registers 0..7 of codes 0..15.
template <class Isa>
CKE_INLINE simd::vi32<Isa> load_words(const std::byte* in, u32 words, u32 group, u32 j) {
  return simd::vi32<Isa>::load_unaligned(
      reinterpret_cast<const i32*>(in + (group * words + j) * Isa::lanes * 4));
}
template <class Isa>
CKE_INLINE void load_nibbles(const std::byte* in, u32 group, simd::vi32<Isa> (&codes)[8]) {
  const simd::vi32<Isa> low(0x0f0f0f0f);
#pragma GCC unroll 4
  for (u32 j = 0; j < 4; ++j) {
    const simd::vi32<Isa> both = load_words<Isa>(in, 4, group, j);
    codes[j] = both & low;
    codes[j + 4] = (both >> 4) & low;
  }
}

}  // namespace cke::kernels

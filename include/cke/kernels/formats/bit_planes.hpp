// SPDX-License-Identifier: MIT
// bit_planes.hpp: 32 k of 32 rows in 1 or 2 bits each: the bits of codes beyond a nibble, or whole codes.
#pragma once

#include <utility>

#include "format.hpp"

namespace cke::kernels {

// [32 / lanes][Bits words][lanes][4 bytes]: bits Bits * j of byte b of word p hold k = p * 32 / Bits + 4 j + b.
template <class Isa, u32 Bits> struct bit_plane {
  static constexpr u32 bytes = unit_rows * 4 * Bits, fours = 8 / Bits;

  static constexpr u32 word(u32 row, u32 p) {
    return ((row / Isa::lanes * Bits + p) * Isa::lanes + row % Isa::lanes) * 4;
  }
  // four(i): the codes of k = 4 i .. 4 i + 3, a byte each.
  template <class Four> static void pack(std::byte* out, u32 row, Four four) {
    for (u32 p = 0; p < Bits; ++p) {
      u32 bits = 0;
      for (u32 j = 0; j < fours; ++j) bits |= four(p * fours + j) << Bits * j;
      write(out + word(row, p), bits);
    }
  }
  static u32 get(const std::byte* in, u32 row, u32 k) {
    const u32 i = k / 4;
    return read<u8>(in + word(row, i / fours) + k % 4) >> i % fours * Bits & ((1u << Bits) - 1);
  }
};

// Sets the bits of a group at bit `At` of its codes, which must be 0 there.
template <u32 Bits, u32 At, class Isa>
CKE_INLINE void load_bits(const std::byte* in, u32 group, simd::vi32<Isa> (&codes)[8]) {
  constexpr u32 fours = bit_plane<Isa, Bits>::fours;
  [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    ((codes[I] =
          codes[I] | simd::bit_field<Isa, I % fours * Bits, Bits, At>(load_words<Isa>(in, Bits, group, I / fours))),
     ...);
  }(std::make_index_sequence<8>{});
}

}  // namespace cke::kernels

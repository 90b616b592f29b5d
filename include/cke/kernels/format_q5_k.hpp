// SPDX-License-Identifier: MIT
// format_q5_k.hpp: blocks of 256 as those of q4_k, with a fifth bit for each code.
#pragma once

#include "format_q4_k.hpp"

namespace cke::kernels {

// A block: nibbles [8], fifth bits [8] (bit j of byte b is that of k = 4 j + b), scales: 88 lines.
template <class Isa> struct layout<dtype::q5_k, Isa> {
  static constexpr u32 block = 256, fifths = 8 * nibbles<Isa>::bytes, fifth_bytes = unit_rows * 4,
                       scales = fifths + 8 * fifth_bytes, block_bytes = scales + k_scales::bytes;
  static_assert(block_bytes == unit_rows * 176);

  static void pack(std::byte* out, u32 row, const std::byte* in) {
    for (u32 s = 0; s < 8; ++s) {  // in the file bit s of byte k is the fifth of k, sub-block s
      nibbles<Isa>::pack(out + s * nibbles<Isa>::bytes, row, in + 48 + s / 2 * 32, s % 2 * 4);
      u32 bits = 0;
      for (u32 j = 0; j < 8; ++j) bits |= (read<u32>(in + 16 + 4 * j) >> s & 0x01010101u) << j;
      write(out + fifths + s * fifth_bytes + 4 * row, bits);
    }
    k_scales::pack(out + scales, row, in);
  }
  static void unpack(const std::byte* in, u32 row, float* out) {
    for (u32 s = 0; s < 8; ++s) {
      const auto [scale, least] = k_scales::get(in + scales, row, s);
      const std::byte* bits = in + fifths + s * fifth_bytes + 4 * row;
      for (u32 k = 0; k < 32; ++k) {
        const u32 fifth = read<u8>(bits + k % 4) >> k / 4 & 1u;
        const u32 code = nibbles<Isa>::get(in + s * nibbles<Isa>::bytes, row, k) | fifth << 4;
        *out++ = scale * static_cast<float>(code) - least;
      }
    }
  }
};

template <class Isa> struct format<dtype::q5_k, Isa> : layout<dtype::q5_k, Isa>, k_step<Isa> {
  using weights = typename k_step<Isa>::weights;
  using vi32 = simd::vi32<Isa>;

  CKE_INLINE static weights load(const std::byte* block, u32 i, u32 group) {
    using l = layout<dtype::q5_k, Isa>;
    weights w;
    load_nibbles<Isa>(block + i * nibbles<Isa>::bytes, group, w.codes);
    const vi32 bits = load_words<Isa>(block + l::fifths + i * l::fifth_bytes, 1, group, 0);
    const vi32 fifth(0x10101010);
#pragma GCC unroll 8
    for (u32 j = 0; j < 8; ++j)
      w.codes[j] =
          w.codes[j] |
          ((j < 4 ? bits << static_cast<i32>(4 - j) : bits >> static_cast<i32>(j - 4)) & fifth);
    k_step<Isa>::load_scales(w, block + l::scales, i, group);
    return w;
  }
};

}  // namespace cke::kernels

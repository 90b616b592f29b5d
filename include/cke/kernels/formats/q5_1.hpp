// SPDX-License-Identifier: MIT
// q5_1.hpp: blocks of 32 five-bit codes, an f16 scale and an f16 minimum.
#pragma once

#include "q4_1.hpp"
#include "q5_0.hpp"

namespace cke::kernels {

// A block: nibbles, fifth bits, then scales and minima: 12 cache lines.
template <class Isa> struct layout<dtype::q5_1, Isa> {
  static constexpr u32 block = 32, fifths = nibbles<Isa>::bytes, scales = fifths + bit_plane<Isa, 1>::bytes,
                       block_bytes = scales + scale_and_least::bytes;
  static_assert(block_bytes == unit_rows * 24);

  static void pack(std::byte* out, u32 row, const std::byte* in) {
    nibbles<Isa>::take(out, row, in + 8);
    bit_plane<Isa, 1>::pack(out + fifths, row, [&](u32 i) { return fifth_bits(read<u32>(in + 4), i); });
    scale_and_least::pack(out + scales, row, in);
  }
  static void unpack(const std::byte* in, u32 row, float* out) {
    for (u32 k = 0; k < block; ++k) {
      const u32 code = nibbles<Isa>::get(in, row, k) | bit_plane<Isa, 1>::get(in + fifths, row, k) << 4;
      out[k] = scale_and_least::number(in + scales, row, code);
    }
  }
};

template <class Isa> struct format<dtype::q5_1, Isa> : layout<dtype::q5_1, Isa>, k_step<Isa, 31> {
  CKE_INLINE static k_weights<Isa> load(const std::byte* block, u32, u32 group) {
    using l = layout<dtype::q5_1, Isa>;
    k_weights<Isa> w;
    load_nibbles<Isa>(block, group, w.codes);
    load_bits<1, 4, Isa>(block + l::fifths, group, w.codes);
    scale_and_least::load<Isa>(block + l::scales, group, w);
    return w;
  }
};

}  // namespace cke::kernels

// SPDX-License-Identifier: MIT
// q5_k.hpp: blocks of 256 like those of q4_k, with a fifth bit for each code.
#pragma once

#include "bit_planes.hpp"
#include "q4_k.hpp"

namespace cke::kernels {

// A block: the scales, then [8] nibbles and fifth bits: 88 cache lines.
template <class Isa> struct layout<dtype::q5_k, Isa> {
  static constexpr u32 block = 256, step_bytes = nibbles<Isa>::bytes + bit_plane<Isa, 1>::bytes,
                       block_bytes = k_scales::bytes + 8 * step_bytes;
  static_assert(block_bytes == unit_rows * 176);

  static constexpr u32 codes(u32 s) { return k_scales::bytes + s * step_bytes; }
  static constexpr u32 fifths(u32 s) { return codes(s) + nibbles<Isa>::bytes; }
  static void pack(std::byte* out, u32 row, const std::byte* in) {
    k_scales::pack(out, row, in);
    for (u32 s = 0; s < 8; ++s) {  // in the file, bit s of byte k is the fifth bit of k, sub-block s
      nibbles<Isa>::pack(out + codes(s), row, in + 48 + s / 2 * 32, s % 2 * 4);
      bit_plane<Isa, 1>::pack(out + fifths(s), row,
                              [&](u32 i) { return read<u32>(in + 16 + 4 * i) >> s & 0x01010101u; });
    }
  }
  static void unpack(const std::byte* in, u32 row, float* out) {
    for (u32 s = 0; s < 8; ++s) {
      const auto [scale, least] = k_scales::get(in, row, s);
      for (u32 k = 0; k < 32; ++k) {
        const u32 code = nibbles<Isa>::get(in + codes(s), row, k) | bit_plane<Isa, 1>::get(in + fifths(s), row, k) << 4;
        *out++ = scale * static_cast<float>(code) - least;
      }
    }
  }
};

template <class Isa> struct format<dtype::q5_k, Isa> : layout<dtype::q5_k, Isa>, k_step<Isa, 31> {
  using view = k_view<Isa>;

  CKE_INLINE static k_weights<Isa> load(const view& v, u32 i, u32 group) {
    using l = layout<dtype::q5_k, Isa>;
    k_weights<Isa> w;
    load_nibbles<Isa>(v.block + l::codes(i), group, w.codes);
    load_bits<1, 4, Isa>(v.block + l::fifths(i), group, w.codes);
    v.load(w, i, group);
    return w;
  }
};

}  // namespace cke::kernels

// SPDX-License-Identifier: MIT
// q5_0.hpp: blocks of 32 five-bit codes and an f16 scale.
#pragma once

#include "bit_planes.hpp"
#include "nibbles.hpp"
#include "q8_0.hpp"

namespace cke::kernels {

// In a file of q5_0 or q5_1 bit k of a word is the fifth bit of code k: 4 of them, a byte each.
constexpr u32 fifth_bits(u32 word, u32 i) { return (word >> 4 * i & 15u) * 0x00204081u & 0x01010101u; }

// A block: nibbles, fifth bits, then f16 scales [32]: 11 cache lines.
template <class Isa> struct layout<dtype::q5_0, Isa> {
  static constexpr u32 block = 32, fifths = nibbles<Isa>::bytes, scales = fifths + bit_plane<Isa, 1>::bytes,
                       block_bytes = scales + 2 * unit_rows;
  static_assert(block_bytes == unit_rows * 22);

  static void pack(std::byte* out, u32 row, const std::byte* in) {
    nibbles<Isa>::take(out, row, in + 6);
    bit_plane<Isa, 1>::pack(out + fifths, row, [&](u32 i) { return fifth_bits(read<u32>(in + 2), i); });
    write(out + scales + 2 * row, read<u16>(in));
  }
  static void unpack(const std::byte* in, u32 row, float* out) {
    const float d = from_f16(read<u16>(in + scales + 2 * row));
    for (u32 k = 0; k < block; ++k) {
      const u32 code = nibbles<Isa>::get(in, row, k) | bit_plane<Isa, 1>::get(in + fifths, row, k) << 4;
      out[k] = d * static_cast<float>(static_cast<i32>(code) - 16);
    }
  }
};

template <class Isa> struct format<dtype::q5_0, Isa> : layout<dtype::q5_0, Isa>, q8_0_step<Isa, 16> {
  using weights = typename q8_0_step<Isa, 16>::weights;

  CKE_INLINE static weights load(const std::byte* block, u32, u32 group) {
    using l = layout<dtype::q5_0, Isa>;
    weights w;
    load_nibbles<Isa>(block, group, w.codes);
    load_bits<1, 4, Isa>(block + l::fifths, group, w.codes);
    w.scale = simd::load_f16<Isa>(block + l::scales + 2 * group * Isa::lanes);
    return w;
  }
};

}  // namespace cke::kernels

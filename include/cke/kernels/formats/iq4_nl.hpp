// SPDX-License-Identifier: MIT
// iq4_nl.hpp: blocks of 32 nibbles that index 16 uneven values, and an f16 scale.
#pragma once

#include "nibbles.hpp"
#include "q8_0.hpp"

namespace cke::kernels {

// With VNNI stored like q8_0's codes: value + 128.
inline constexpr std::initializer_list<int> iq4_values{-127, -104, -83, -65, -49, -35, -22, -10,
                                                       1,    13,   25,  38,  53,  69,  89,  113};
template <class Isa> inline constexpr nibble_table iq4_table = table_of(iq4_values, simd::has_vnni<Isa> ? 128 : 0);

// A block: nibbles, then f16 scales [32]: 9 cache lines.
template <class Isa> struct layout<dtype::iq4_nl, Isa> {
  static constexpr u32 block = 32, scales = nibbles<Isa>::bytes, block_bytes = scales + 2 * unit_rows;
  static_assert(block_bytes == unit_rows * 18);

  static void pack(std::byte* out, u32 row, const std::byte* in) {
    nibbles<Isa>::take(out, row, in + 2);
    write(out + scales + 2 * row, read<u16>(in));
  }
  static void unpack(const std::byte* in, u32 row, float* out) {
    const float d = from_f16(read<u16>(in + scales + 2 * row));
    for (u32 k = 0; k < block; ++k) out[k] = d * static_cast<float>(iq4_values.begin()[nibbles<Isa>::get(in, row, k)]);
  }
};

template <class Isa> struct format<dtype::iq4_nl, Isa> : layout<dtype::iq4_nl, Isa>, q8_0_step<Isa> {
  using weights = typename q8_0_step<Isa>::weights;

  CKE_INLINE static weights load(const std::byte* block, u32, u32 group) {
    weights w;
    load_nibbles<Isa>(block, group, iq4_table<Isa>, w.codes);
    w.scale = simd::load_f16<Isa>(block + layout<dtype::iq4_nl, Isa>::scales + 2 * group * Isa::lanes);
    return w;
  }
};

}  // namespace cke::kernels

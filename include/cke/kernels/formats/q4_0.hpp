// SPDX-License-Identifier: MIT
// q4_0.hpp: blocks of 32 nibbles and an f16 scale, against q8_0 activations.
#pragma once

#include "nibbles.hpp"
#include "q8_0.hpp"

namespace cke::kernels {

// A block: nibbles, then f16 scales [32]: 9 cache lines. A nibble in the high half of a byte is a
// q8_0 code 16 times as large: stored as value + 8 with VNNI, it has that format's bias of 128.
template <class Isa> struct layout<dtype::q4_0, Isa> {
  static constexpr u32 block = 32, block_bytes = unit_rows * 18, scales = nibbles<Isa>::bytes;
  static constexpr u32 flip = simd::has_vnni<Isa> ? 0 : 0x88888888u;

  static void pack(std::byte* out, u32 row, const std::byte* in) {
    for (u32 j = 0; j < 4; ++j) write(out + nibbles<Isa>::word(row, j), read<u32>(in + 2 + 4 * j) ^ flip);
    write(out + scales + 2 * row, read<u16>(in));
  }
  static void unpack(const std::byte* in, u32 row, float* out) {
    const float d = from_f16(read<u16>(in + scales + 2 * row));
    for (u32 k = 0; k < block; ++k)
      out[k] = d * static_cast<float>(i32(nibbles<Isa>::get(in, row, k) ^ (flip & 15u)) - 8);
  }
};

// Without VNNI dots of signed codes take longer than those of value + 8.
template <class Isa>
  requires simd::multiplies_to_i16<Isa>
struct format<dtype::q4_0, Isa> : layout<dtype::q4_0, Isa>, q8_0_step<Isa, 8> {
  using weights = typename q8_0_step<Isa, 8>::weights;

  CKE_INLINE static weights load(const std::byte* block, u32, u32 group) {
    using l = layout<dtype::q4_0, Isa>;
    weights w;
    load_nibbles<Isa>(block, group, w.codes);
    for (auto& c : w.codes) c = c ^ simd::vi32<Isa>(0x08080808);
    w.scale = simd::load_f16<Isa>(block + l::scales + 2 * group * Isa::lanes);
    return w;
  }
};

template <class Isa> struct format<dtype::q4_0, Isa> : layout<dtype::q4_0, Isa>, q8_0_step<Isa> {
  using weights = typename q8_0_step<Isa>::weights;

  CKE_INLINE static weights load(const std::byte* block, u32, u32 group) {
    weights w;
    const auto high = simd::vi32<Isa>(static_cast<i32>(0xf0f0f0f0u));
#pragma GCC unroll 4
    for (u32 j = 0; j < 4; ++j) {
      const auto both = load_words<Isa>(block, 4, group, j);
      w.codes[j] = (both << 4) & high;
      w.codes[j + 4] = both & high;
    }
    w.scale = simd::load_f16<Isa>(block + layout<dtype::q4_0, Isa>::scales + 2 * group * Isa::lanes) *
        simd::vf32<Isa>(0x1p-4f);
    return w;
  }
};

}  // namespace cke::kernels

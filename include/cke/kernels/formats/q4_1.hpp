// SPDX-License-Identifier: MIT
// q4_1.hpp: blocks of 32 nibbles, an f16 scale and an f16 minimum.
#pragma once

#include "q4_k.hpp"

namespace cke::kernels {

// f16 d [32] and m [32] of blocks whose numbers are d * code + m.
struct scale_and_least {
  static constexpr u32 bytes = 4 * unit_rows;

  static void pack(std::byte* out, u32 row, const std::byte* in) {
    write(out + 2 * row, read<u16>(in));
    write(out + 2 * unit_rows + 2 * row, read<u16>(in + 2));
  }
  static float number(const std::byte* in, u32 row, u32 code) {
    return from_f16(read<u16>(in + 2 * row)) * static_cast<float>(code) +
        from_f16(read<u16>(in + 2 * unit_rows + 2 * row));
  }
  template <class Isa>
  CKE_INLINE static void load(const std::byte* in, u32 group, k_weights<Isa>& w) {
    const std::byte* at = in + 2 * group * Isa::lanes;
    w.scale = simd::load_f16<Isa>(at);
    w.least = simd::load_f16<Isa>(at + 2 * unit_rows) * simd::vf32<Isa>(-0x1p-7f);
  }
};

// A block: nibbles, then scales and minima: 10 cache lines.
template <class Isa> struct layout<dtype::q4_1, Isa> {
  static constexpr u32 block = 32, scales = nibbles<Isa>::bytes, block_bytes = scales + scale_and_least::bytes;
  static_assert(block_bytes == unit_rows * 20);

  static void pack(std::byte* out, u32 row, const std::byte* in) {
    nibbles<Isa>::take(out, row, in + 4);
    scale_and_least::pack(out + scales, row, in);
  }
  static void unpack(const std::byte* in, u32 row, float* out) {
    for (u32 k = 0; k < block; ++k) out[k] = scale_and_least::number(in + scales, row, nibbles<Isa>::get(in, row, k));
  }
};

template <class Isa> struct format<dtype::q4_1, Isa> : layout<dtype::q4_1, Isa>, k_step<Isa, 15> {
  CKE_INLINE static k_weights<Isa> load(const std::byte* block, u32, u32 group) {
    k_weights<Isa> w;
    load_nibbles<Isa>(block, group, w.codes);
    scale_and_least::load<Isa>(block + layout<dtype::q4_1, Isa>::scales, group, w);
    return w;
  }
};

}  // namespace cke::kernels

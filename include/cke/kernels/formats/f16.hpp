// SPDX-License-Identifier: MIT
// f16.hpp: f16 weights as [k][32 rows], widened to f32 in registers.
#pragma once

#include "f32.hpp"

namespace cke::kernels {

template <class Isa> struct layout<dtype::f16, Isa> {
  static constexpr u32 block = 1, block_bytes = unit_rows * 2;
  static void pack(std::byte* out, u32 row, const std::byte* in) { write(out + 2 * row, read<u16>(in)); }
  static void unpack(const std::byte* in, u32 row, float* out) { *out = from_f16(read<u16>(in + 2 * row)); }
};

template <class Isa> struct format<dtype::f16, Isa> : layout<dtype::f16, Isa>, f32_step<Isa> {
  CKE_INLINE static simd::vf32<Isa> load(const std::byte* block, u32, u32 group) {
    return simd::load_f16<Isa>(block + 2 * group * Isa::lanes);
  }
};

}  // namespace cke::kernels

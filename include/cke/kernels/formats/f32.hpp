// SPDX-License-Identifier: MIT
// f32.hpp: f32 weights as [k][32 rows], against plain f32 activations.
#pragma once

#include "format.hpp"

namespace cke::kernels {

template <class Isa> struct layout<dtype::f32, Isa> {
  static constexpr u32 block = 1, block_bytes = unit_rows * 4;
  static void pack(std::byte* out, u32 row, const std::byte* in) { write(out + 4 * row, read<float>(in)); }
  static void unpack(const std::byte* in, u32 row, float* out) { *out = read<float>(in + 4 * row); }
};

// The step that formats of plain f32 activations share: one k of one group of rows.
template <class Isa> struct f32_step {
  static constexpr u32 step = 1;
  template <u32 T> static constexpr u32 x_bytes = 4;
  using vf32 = simd::vf32<Isa>;
  using weights = vf32;

  template <u32 T>
  CKE_INLINE static vf32 dot(vf32 acc, weights w, const std::byte* x, u64 stride, u32 t) {
    return xsimd::fma(w, simd::bcast_f32<Isa>(x + t * stride), acc);
  }
};

template <class Isa> struct format<dtype::f32, Isa> : layout<dtype::f32, Isa>, f32_step<Isa> {
  CKE_INLINE static simd::vf32<Isa> load(const std::byte* block, u32, u32 group) {
    return simd::vf32<Isa>::load_unaligned(reinterpret_cast<const float*>(block) + group * Isa::lanes);
  }
};

}  // namespace cke::kernels

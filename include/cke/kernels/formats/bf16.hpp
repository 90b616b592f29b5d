// SPDX-License-Identifier: MIT
// bf16.hpp: bf16 weights as [k / 2][32 rows][2], against pairs of activations that are rounded to bf16.
#pragma once

#include "format.hpp"

namespace cke::kernels {

template <class Isa> struct layout<dtype::bf16, Isa> {
  static constexpr u32 block = 8, block_bytes = block * unit_rows * 2;
  static void pack(std::byte* out, u32 row, const std::byte* in) {
    for (u32 j = 0; j < block / 2; ++j) write(out + 4 * (j * unit_rows + row), read<u32>(in + 4 * j));
  }
  static void unpack(const std::byte* in, u32 row, float* out) {
    for (u32 k = 0; k < block; ++k) out[k] = from_bf16(read<u16>(in + 4 * (k / 2 * unit_rows + row) + 2 * (k % 2)));
  }
};

template <class Isa> struct format<dtype::bf16, Isa> : layout<dtype::bf16, Isa> {
  static constexpr u32 step = 2;
  static constexpr u32 pair_bytes = simd::expands_bf16<Isa> ? 8 : 4;
  template <u32 T> static constexpr u32 x_bytes = pair_bytes * T;
  using vf32 = simd::vf32<Isa>;
  using weights = simd::vi32<Isa>;

  CKE_INLINE static weights load(const std::byte* block, u32 i, u32 group) {
    return weights::load_unaligned(reinterpret_cast<const i32*>(block) + i * unit_rows + group * Isa::lanes);
  }
  template <u32 T> CKE_INLINE static vf32 dot(vf32 acc, weights w, const std::byte* x, u64, u32 t) {
    x += pair_bytes * t;
    if constexpr (simd::expands_bf16<Isa>) {
      const weights odd = w & weights(static_cast<i32>(0xffff0000u));
      acc = xsimd::fma(simd::as<vf32>(odd), simd::bcast_f32<Isa>(x + 4), acc);
      return xsimd::fma(simd::as<vf32>(w << 16), simd::bcast_f32<Isa>(x), acc);
    } else {
      return simd::dot2_bf16<Isa>(acc, w, simd::bcast4<Isa>(x));
    }
  }
};

}  // namespace cke::kernels

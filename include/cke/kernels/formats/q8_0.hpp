// SPDX-License-Identifier: MIT
// q8_0.hpp: blocks of 32 signed bytes and an f16 scale, against q8_0 activations.
#pragma once

#include <bit>

#include "format.hpp"

namespace cke::kernels {

// A block: codes [32 / lanes][k / 4][lanes][4], then f16 scales [32]: 17 cache lines, the same as in the file. With
// VNNI a code is stored as value + 128: one side of the instruction is unsigned.
template <class Isa> struct layout<dtype::q8_0, Isa> {
  static constexpr u32 block = 32, block_bytes = unit_rows * 34, scales = unit_rows * 32;
  static constexpr u32 bias = simd::has_vnni<Isa> ? 0x80808080u : 0;

  static constexpr u32 code(u32 row, u32 j) {  // the place of k = 4 j .. 4 j + 3 of a row
    return (row / Isa::lanes * 8 + j) * Isa::lanes * 4 + row % Isa::lanes * 4;
  }
  static void pack(std::byte* out, u32 row, const std::byte* in) {
    for (u32 j = 0; j < 8; ++j) write(out + code(row, j), read<u32>(in + 2 + 4 * j) ^ bias);
    write(out + scales + 2 * row, read<u16>(in));
  }
  static void unpack(const std::byte* in, u32 row, float* out) {
    const float d = from_f16(read<u16>(in + scales + 2 * row));
    for (u32 k = 0; k < block; ++k) {
      const auto stored = read<u8>(in + code(row, k / 4) + k % 4);
      out[k] = d * static_cast<float>(static_cast<i8>(stored ^ static_cast<u8>(bias)));
    }
  }
};

// The step of 32 codes and one scale against 32 activations. Codes are unsigned: value + Bias; with Bias 0 they are
// signed.
template <class Isa, u32 Bias = simd::has_vnni<Isa> ? 128 : 0> struct q8_0_step {
  static constexpr u32 step = 32;
  template <u32 T> static constexpr u32 x_bytes = 48 * T;  // see operand<dtype::q8_0>
  using vf32 = simd::vf32<Isa>;
  using vi32 = simd::vi32<Isa>;
  using view = const std::byte*;
  struct weights {
    vi32 codes[8];
    vf32 scale;
  };

  // With biased codes the sum starts at -Bias * sum(x), which undoes the bias exactly.
  template <u32 T>
  CKE_INLINE static vf32 dot(vf32 acc, const weights& w, const std::byte* x, u64, u32 t) {
    vi32 sum(0);
    if constexpr (Bias > 0) {
      const vi32 unbiased = simd::bcast4<Isa>(x + 36 * T + 4 * t) >> std::countr_zero(128 / Bias);
      sum = simd::dots<Isa, 2 * Bias - 1, 8>(unbiased, w.codes, x + 32 * t);
    } else {
#pragma GCC unroll 8
      for (u32 j = 0; j < 8; ++j) sum = simd::dot4_signed<Isa>(sum, w.codes[j], simd::bcast4<Isa>(x + 32 * t + 4 * j));
    }
    return xsimd::fma(xsimd::to_float(sum), w.scale * simd::bcast_f32<Isa>(x + 32 * T + 4 * t), acc);
  }
};

template <class Isa> struct format<dtype::q8_0, Isa> : layout<dtype::q8_0, Isa>, q8_0_step<Isa> {
  using weights = typename q8_0_step<Isa>::weights;

  CKE_INLINE static weights load(const std::byte* block, u32, u32 group) {
    weights w;
    const auto* codes = reinterpret_cast<const i32*>(block) + group * 8 * Isa::lanes;
#pragma GCC unroll 8
    for (u32 j = 0; j < 8; ++j) w.codes[j] = simd::vi32<Isa>::load_unaligned(codes + j * Isa::lanes);
    w.scale = simd::load_f16<Isa>(block + layout<dtype::q8_0, Isa>::scales + 2 * group * Isa::lanes);
    return w;
  }
};

}  // namespace cke::kernels

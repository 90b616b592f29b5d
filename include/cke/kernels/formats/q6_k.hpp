// SPDX-License-Identifier: MIT
// q6_k.hpp: blocks of 256 six-bit codes with a signed scale for every 16, and an f16 scale.
#pragma once

#include <bit>

#include "bit_planes.hpp"
#include "block_scales.hpp"
#include "nibbles.hpp"

namespace cke::kernels {

// A block: f16 d [32], then [8] low nibbles, high bits and scales i8 [2][32]: 105 cache lines.
template <class Isa> struct layout<dtype::q6_k, Isa> {
  static constexpr u32 block = 256, step_bytes = nibbles<Isa>::bytes + bit_plane<Isa, 2>::bytes + unit_rows * 2,
                       block_bytes = 2 * unit_rows + 8 * step_bytes;
  static_assert(block_bytes == unit_rows * 210);

  static constexpr u32 codes(u32 s) { return 2 * unit_rows + s * step_bytes; }
  static constexpr u32 tops(u32 s) { return codes(s) + nibbles<Isa>::bytes; }
  static constexpr u32 scales(u32 s) { return tops(s) + bit_plane<Isa, 2>::bytes; }
  // The file keeps 128 codes in 64 bytes of low nibbles and 32 of high bits: code k of them low in
  // nibble k / 64 of byte k % 64, high in bits k / 32 * 2 of byte k % 32.
  static void pack(std::byte* out, u32 row, const std::byte* in) {
    for (u32 s = 0; s < 8; ++s) {
      const u32 half = s / 4, part = s % 4;
      nibbles<Isa>::pack(out + codes(s), row, in + half * 64 + part % 2 * 32, part / 2 * 4);
      bit_plane<Isa, 2>::pack(out + tops(s), row,
                              [&](u32 i) { return read<u32>(in + 128 + half * 32 + 4 * i) >> part * 2 & 0x03030303u; });
      for (u32 h = 0; h < 2; ++h) write(out + scales(s) + h * unit_rows + row, read<u8>(in + 192 + 2 * s + h));
    }
    write(out + 2 * row, read<u16>(in + 208));
  }
  static void unpack(const std::byte* in, u32 row, float* out) {
    for (u32 k = 0; k < block; ++k) {
      const u32 s = k / 32, i = k % 32;
      const u32 code = nibbles<Isa>::get(in + codes(s), row, i) | bit_plane<Isa, 2>::get(in + tops(s), row, i) << 4;
      const float scale =
          from_f16(read<u16>(in + 2 * row)) * static_cast<float>(read<i8>(in + scales(s) + i / 16 * unit_rows + row));
      out[k] = scale * static_cast<float>(static_cast<i32>(code) - 32);
    }
  }
};

// The step of 32 codes, each its value + Bias, with a scale for every 16.
template <class Isa, u32 Bias> struct halves_step {
  static constexpr u32 step = 32;
  template <u32 T> static constexpr u32 x_bytes = 48 * T;  // see operand<dtype::q8_0>
  using vf32 = simd::vf32<Isa>;
  using vi32 = simd::vi32<Isa>;
  struct weights {
    vi32 codes[8];
    vf32 scale[2];
  };

  // Each half starts at -Bias * sum(x): exact.
  template <u32 T>
  CKE_INLINE static vf32 dot(vf32 acc, const weights& w, const std::byte* x, u64, u32 t) {
    vf32 part[2];
#pragma GCC unroll 2
    for (u32 h = 0; h < 2; ++h) {
      vi32 sum = simd::bcast4<Isa>(x + (40 + 4 * h) * T + 4 * t) >> std::countr_zero(32 / Bias);
      sum = simd::dots<Isa, 2 * Bias - 1, 4>(sum, w.codes + 4 * h, x + 32 * t + 16 * h);
      part[h] = xsimd::to_float(sum);
    }
    return xsimd::fma(xsimd::fma(part[0], w.scale[0], part[1] * w.scale[1]), simd::bcast_f32<Isa>(x + 32 * T + 4 * t),
                      acc);
  }
};

template <class Isa> struct format<dtype::q6_k, Isa> : layout<dtype::q6_k, Isa>, halves_step<Isa, 32> {
  using weights = typename halves_step<Isa, 32>::weights;
  struct view {
    const std::byte* block;
    row_scales<Isa> d;
    CKE_INLINE explicit view(const std::byte* in) : block(in), d(in) {}
  };

  CKE_INLINE static weights load(const view& v, u32 i, u32 group) {
    using l = layout<dtype::q6_k, Isa>;
    weights w;
    load_nibbles<Isa>(v.block + l::codes(i), group, w.codes);
    load_bits<2, 4, Isa>(v.block + l::tops(i), group, w.codes);
#pragma GCC unroll 2
    for (u32 h = 0; h < 2; ++h)
      w.scale[h] = v.d.of[group] *
          xsimd::to_float(simd::load_i8<Isa>(v.block + l::scales(i) + h * unit_rows + group * Isa::lanes));
    return w;
  }
};

}  // namespace cke::kernels

// SPDX-License-Identifier: MIT
// q2_k.hpp: blocks of 256 two-bit codes, a 4-bit scale and minimum for every 16, f16 scales of both.
#pragma once

#include "bit_planes.hpp"
#include "block_scales.hpp"

namespace cke::kernels {

// The two low bits of 4 codes of a block of 256, a byte each: the file keeps 128 codes in 32 bytes, code k of them in
// bits k / 32 * 2 of byte k % 32.
inline u32 two_bits(const std::byte* in, u32 s, u32 i) {
  return read<u32>(in + s / 4 * 32 + 4 * i) >> s % 4 * 2 & 0x03030303u;
}

// A block: f16 d [32] and dmin [32], then [8] codes and minimum << 4 | scale [2][32]: 42 cache lines.
template <class Isa> struct layout<dtype::q2_k, Isa> {
  static constexpr u32 block = 256, dmin = 2 * unit_rows, step_bytes = bit_plane<Isa, 2>::bytes + 2 * unit_rows,
                       block_bytes = 4 * unit_rows + 8 * step_bytes;
  static_assert(block_bytes == unit_rows * 84);

  static constexpr u32 codes(u32 s) { return 4 * unit_rows + s * step_bytes; }
  static constexpr u32 scales(u32 s) { return codes(s) + bit_plane<Isa, 2>::bytes; }
  static void pack(std::byte* out, u32 row, const std::byte* in) {
    for (u32 s = 0; s < 8; ++s) {
      bit_plane<Isa, 2>::pack(out + codes(s), row, [&](u32 i) { return two_bits(in + 16, s, i); });
      for (u32 h = 0; h < 2; ++h) write(out + scales(s) + h * unit_rows + row, read<u8>(in + 2 * s + h));
    }
    write(out + 2 * row, read<u16>(in + 80));
    write(out + dmin + 2 * row, read<u16>(in + 82));
  }
  static void unpack(const std::byte* in, u32 row, float* out) {
    const float d = from_f16(read<u16>(in + 2 * row)), least = from_f16(read<u16>(in + dmin + 2 * row));
    for (u32 k = 0; k < block; ++k) {
      const u32 both = read<u8>(in + scales(k / 32) + k % 32 / 16 * unit_rows + row);
      const u32 code = bit_plane<Isa, 2>::get(in + codes(k / 32), row, k % 32);
      out[k] = d * static_cast<float>(both & 15u) * static_cast<float>(code) - least * static_cast<float>(both >> 4);
    }
  }
};

template <class Isa> struct format<dtype::q2_k, Isa> : layout<dtype::q2_k, Isa> {
  static constexpr u32 step = 32;
  template <u32 T> static constexpr u32 x_bytes = 48 * T;  // see operand<dtype::q8_0>
  using vf32 = simd::vf32<Isa>;
  using vi32 = simd::vi32<Isa>;
  struct weights {
    vi32 codes[8];
    vf32 scale[2], least[2];  // of 16 k each; least: of -32nds, as sum(x) comes
  };
  struct view {
    const std::byte* block;
    row_scales<Isa> d, dmin;
    CKE_INLINE explicit view(const std::byte* in)
        : block(in), d(in), dmin(in + layout<dtype::q2_k, Isa>::dmin, 0x1p-5f) {}
  };

  CKE_INLINE static weights load(const view& v, u32 i, u32 group) {
    using l = layout<dtype::q2_k, Isa>;
    weights w;
    for (vi32& c : w.codes) c = vi32(0);
    load_bits<2, 0, Isa>(v.block + l::codes(i), group, w.codes);
    const u32 row = group * Isa::lanes;
#pragma GCC unroll 2
    for (u32 h = 0; h < 2; ++h) {
      const vi32 both = simd::load_i8<Isa>(v.block + l::scales(i) + h * unit_rows + row);
      w.scale[h] = v.d.of[group] * xsimd::to_float(both & vi32(15));
      w.least[h] = v.dmin.of[group] * xsimd::to_float((both >> 4) & vi32(15));
    }
    return w;
  }
  template <u32 T>
  CKE_INLINE static vf32 dot(vf32 acc, const weights& w, const std::byte* x, u64, u32 t) {
    vf32 part[2];
#pragma GCC unroll 2
    for (u32 h = 0; h < 2; ++h) {
      const vi32 sum = simd::dots<Isa, 3, 4>(vi32(0), w.codes + 4 * h, x + 32 * t + 16 * h);
      const vf32 least = w.least[h] * xsimd::to_float(simd::bcast4<Isa>(x + (40 + 4 * h) * T + 4 * t));
      part[h] = xsimd::fma(xsimd::to_float(sum), w.scale[h], least);
    }
    return xsimd::fma(part[0] + part[1], simd::bcast_f32<Isa>(x + 32 * T + 4 * t), acc);
  }
};

}  // namespace cke::kernels

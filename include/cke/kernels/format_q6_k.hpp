// SPDX-License-Identifier: MIT
// format_q6_k.hpp: blocks of 256 six-bit codes with a signed scale for every 16, and an f16 scale.
#pragma once

#include "nibbles.hpp"

namespace cke::kernels {

// A block: low nibbles [8], high bits [8][32 / lanes][2][lanes][4] (bits 2 j of byte b of word p
// are those of k = 16 p + 4 j + b), scales i8 [16][32], f16 d [32]: 105 cache lines.
template <class Isa> struct layout<dtype::q6_k, Isa> {
  static constexpr u32 block = 256, tops = 8 * nibbles<Isa>::bytes, top_bytes = unit_rows * 8,
                       scales = tops + 8 * top_bytes, d = scales + 16 * unit_rows,
                       block_bytes = d + 2 * unit_rows;
  static_assert(block_bytes == unit_rows * 210);

  static constexpr u32 top(u32 row, u32 word) {
    return ((row / Isa::lanes * 2 + word) * Isa::lanes + row % Isa::lanes) * 4;
  }
  // The file keeps 128 codes in 64 bytes of low nibbles and 32 of high bits: code k of them low in
  // nibble k / 64 of byte k % 64, high in bits k / 32 * 2 of byte k % 32.
  static void pack(std::byte* out, u32 row, const std::byte* in) {
    for (u32 s = 0; s < 8; ++s) {
      const u32 half = s / 4, part = s % 4;
      nibbles<Isa>::pack(out + s * nibbles<Isa>::bytes, row, in + half * 64 + part % 2 * 32,
                         part / 2 * 4);
      for (u32 word = 0; word < 2; ++word) {
        u32 bits = 0;
        for (u32 j = 0; j < 4; ++j)
          bits |= (read<u32>(in + 128 + half * 32 + word * 16 + 4 * j) >> part * 2 & 0x03030303u)
                  << 2 * j;
        write(out + tops + s * top_bytes + top(row, word), bits);
      }
    }
    for (u32 i = 0; i < 16; ++i) write(out + scales + i * unit_rows + row, read<u8>(in + 192 + i));
    write(out + d + 2 * row, read<u16>(in + 208));
  }
  static void unpack(const std::byte* in, u32 row, float* out) {
    for (u32 k = 0; k < block; ++k) {
      const u32 s = k / 32, i = k % 32;
      const u32 high =
          read<u8>(in + tops + s * top_bytes + top(row, i / 16) + i % 4) >> i % 16 / 4 * 2 & 3u;
      const u32 code = nibbles<Isa>::get(in + s * nibbles<Isa>::bytes, row, i) | high << 4;
      const float scale = from_f16(read<u16>(in + d + 2 * row)) *
                          static_cast<float>(read<i8>(in + scales + k / 16 * unit_rows + row));
      out[k] = scale * static_cast<float>(static_cast<i32>(code) - 32);
    }
  }
};

template <class Isa> struct format<dtype::q6_k, Isa> : layout<dtype::q6_k, Isa> {
  static constexpr u32 step = 32, prefetch = 4096;
  template <u32 T> static constexpr u32 x_bytes = 48 * T;  // see operand<dtype::q8_0>
  using vf32 = simd::vf32<Isa>;
  using vi32 = simd::vi32<Isa>;
  struct weights {
    vi32 codes[8];  // value + 32
    vf32 scale[2];  // of 16 k each
  };

  CKE_INLINE static weights load(const std::byte* block, u32 i, u32 group) {
    using l = layout<dtype::q6_k, Isa>;
    weights w;
    load_nibbles<Isa>(block + i * nibbles<Isa>::bytes, group, w.codes);
    const vi32 high(0x30303030);
    const vf32 d = simd::load_f16<Isa>(block + l::d + 2 * group * Isa::lanes);
#pragma GCC unroll 2
    for (u32 h = 0; h < 2; ++h) {
      const vi32 bits = load_words<Isa>(block + l::tops + i * l::top_bytes, 2, group, h);
      w.codes[4 * h] = w.codes[4 * h] | ((bits << 4) & high);
      w.codes[4 * h + 1] = w.codes[4 * h + 1] | ((bits << 2) & high);
      w.codes[4 * h + 2] = w.codes[4 * h + 2] | (bits & high);
      w.codes[4 * h + 3] = w.codes[4 * h + 3] | ((bits >> 2) & high);
      const std::byte* scales = block + l::scales + (2 * i + h) * unit_rows;
      w.scale[h] = d * xsimd::to_float(simd::load_i8<Isa>(scales + group * Isa::lanes));
    }
    return w;
  }
  // Each half starts at -32 * sum(x): exact.
  template <u32 T>
  CKE_INLINE static vf32 dot(vf32 acc, const weights& w, const std::byte* x, u64, u32 t) {
    vf32 part[2];
#pragma GCC unroll 2
    for (u32 h = 0; h < 2; ++h) {
      vi32 sum = simd::bcast4<Isa>(x + (40 + 4 * h) * T + 4 * t);
#pragma GCC unroll 4
      for (u32 j = 4 * h; j < 4 * h + 4; ++j)
        sum = simd::dot4<Isa>(sum, w.codes[j], simd::bcast4<Isa>(x + 32 * t + 4 * j));
      part[h] = xsimd::to_float(sum);
    }
    return xsimd::fma(xsimd::fma(part[0], w.scale[0], part[1] * w.scale[1]),
                      simd::bcast_f32<Isa>(x + 32 * T + 4 * t), acc);
  }
};

}  // namespace cke::kernels

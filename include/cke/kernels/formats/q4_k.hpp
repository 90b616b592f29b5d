// SPDX-License-Identifier: MIT
// q4_k.hpp: blocks of 256: nibbles, a 6-bit scale and minimum for every 32, f16 scales of both.
#pragma once

#include "block_scales.hpp"
#include "nibbles.hpp"

namespace cke::kernels {

// The scales of a q4_k or q5_k block of 32 rows: low nibbles (minimum << 4 | scale) [8][32], the two high bits of each,
// of an even 32 below those of an odd one, [4][32], then f16 d and dmin [32].
struct k_scales {
  static constexpr u32 high = 8 * unit_rows, d = high + 4 * unit_rows, dmin = d + 2 * unit_rows,
                       bytes = dmin + 2 * unit_rows;

  // Packs the file's block: f16 d, dmin, then scale and minimum of sub-block s as q[s] & 63 and q[s + 4] & 63 below 4;
  // above, 4 bits in q[s + 4] and 2 on top of q[s - 4] and q[s].
  static void pack(std::byte* out, u32 row, const std::byte* in) {
    const auto q = [&](u32 i) { return u32{read<u8>(in + 4 + i)}; };
    for (u32 s = 0; s < 8; ++s) {
      const u32 scale = s < 4 ? q(s) & 63u : (q(s + 4) & 15u) | q(s - 4) >> 6 << 4;
      const u32 least = s < 4 ? q(s + 4) & 63u : q(s + 4) >> 4 | q(s) >> 6 << 4;
      write(out + s * unit_rows + row, static_cast<u8>((scale & 15u) | (least & 15u) << 4));
      std::byte* tops = out + high + s / 2 * unit_rows + row;
      const u32 top = (scale >> 4 | least >> 4 << 2) << s % 2 * 4;
      write(tops, static_cast<u8>(s % 2 ? read<u8>(tops) | top : top));
    }
    write(out + d + 2 * row, read<u16>(in));
    write(out + dmin + 2 * row, read<u16>(in + 2));
  }
  struct pair {
    float scale, least;
  };
  static pair get(const std::byte* in, u32 row, u32 s) {
    const u32 low = read<u8>(in + s * unit_rows + row);
    const u32 top = read<u8>(in + high + s / 2 * unit_rows + row) >> s % 2 * 4 & 15u;
    return {from_f16(read<u16>(in + d + 2 * row)) * static_cast<float>((low & 15u) | (top & 3u) << 4),
            from_f16(read<u16>(in + dmin + 2 * row)) * static_cast<float>(low >> 4 | top >> 2 << 4)};
  }
};

// A block: the scales, then nibbles [8]: 72 cache lines.
template <class Isa> struct layout<dtype::q4_k, Isa> {
  static constexpr u32 block = 256, block_bytes = k_scales::bytes + 8 * nibbles<Isa>::bytes;
  static_assert(block_bytes == unit_rows * 144);

  static constexpr u32 codes(u32 s) { return k_scales::bytes + s * nibbles<Isa>::bytes; }
  static void pack(std::byte* out, u32 row, const std::byte* in) {
    k_scales::pack(out, row, in);
    for (u32 s = 0; s < 8; ++s)  // the file keeps two runs of 32 in one run of 32 bytes
      nibbles<Isa>::pack(out + codes(s), row, in + 16 + s / 2 * 32, s % 2 * 4);
  }
  static void unpack(const std::byte* in, u32 row, float* out) {
    for (u32 s = 0; s < 8; ++s) {
      const auto [scale, least] = k_scales::get(in, row, s);
      for (u32 k = 0; k < 32; ++k)
        *out++ = scale * static_cast<float>(nibbles<Isa>::get(in + codes(s), row, k)) - least;
    }
  }
};

template <class Isa> struct k_weights {
  simd::vi32<Isa> codes[8];
  simd::vf32<Isa> scale, least;  // least: of -128ths, as sum(x) comes
};

// The step of 32 codes 0..Max, a scale and a minimum.
template <class Isa, u32 Max> struct k_step {
  static constexpr u32 step = 32;
  template <u32 T> static constexpr u32 x_bytes = 48 * T;  // see operand<dtype::q8_0>
  using vf32 = simd::vf32<Isa>;
  using vi32 = simd::vi32<Isa>;
  using view = const std::byte*;
  using weights = k_weights<Isa>;

  template <u32 T>
  CKE_INLINE static vf32 dot(vf32 acc, const weights& w, const std::byte* x, u64, u32 t) {
    const vi32 sum = simd::dots<Isa, Max, 8>(vi32(0), w.codes, x + 32 * t);
    const vf32 least = w.least * xsimd::to_float(simd::bcast4<Isa>(x + 36 * T + 4 * t));
    return xsimd::fma(xsimd::fma(xsimd::to_float(sum), w.scale, least), simd::bcast_f32<Isa>(x + 32 * T + 4 * t), acc);
  }
};

// A block of q4_k or q5_k with its scales and minima as bytes.
template <class Isa> struct k_view {
  using vf32 = simd::vf32<Isa>;
  const std::byte* block;
  byte_scales<8> scale, least;
  row_scales<Isa> d, dmin;

  CKE_INLINE explicit k_view(const std::byte* in) : block(in), d(in + k_scales::d), dmin(in + k_scales::dmin, 0x1p-7f) {
#pragma GCC unroll 4
    for (u32 s = 0; s < 8; s += 2) {
      unit_words even, odd, tops;
      std::memcpy(&even, in + s * unit_rows, sizeof even);
      std::memcpy(&odd, in + (s + 1) * unit_rows, sizeof odd);
      std::memcpy(&tops, in + k_scales::high + s / 2 * unit_rows, sizeof tops);
      scale.rows[s] = (even & 0x0f0f0f0fu) | (tops << 4 & 0x30303030u);
      least.rows[s] = (even >> 4 & 0x0f0f0f0fu) | (tops << 2 & 0x30303030u);
      scale.rows[s + 1] = (odd & 0x0f0f0f0fu) | (tops & 0x30303030u);
      least.rows[s + 1] = (odd >> 4 & 0x0f0f0f0fu) | (tops >> 2 & 0x30303030u);
    }
  }
  CKE_INLINE void load(k_weights<Isa>& w, u32 s, u32 group) const {
    w.scale = d.of[group] * scale.load<Isa>(s, group);
    w.least = dmin.of[group] * least.load<Isa>(s, group);
  }
};

template <class Isa> struct format<dtype::q4_k, Isa> : layout<dtype::q4_k, Isa>, k_step<Isa, 15> {
  using view = k_view<Isa>;

  CKE_INLINE static k_weights<Isa> load(const view& v, u32 i, u32 group) {
    k_weights<Isa> w;
    load_nibbles<Isa>(v.block + layout<dtype::q4_k, Isa>::codes(i), group, w.codes);
    v.load(w, i, group);
    return w;
  }
};

}  // namespace cke::kernels

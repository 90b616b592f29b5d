// SPDX-License-Identifier: MIT
// quantise_k.hpp: a block of 256 numbers as a K-quant or as IQ4, after ggml's reference.
#pragma once

#include <algorithm>

#include "iq4_nl.hpp"
#include "k_quant_search.hpp"
#include "mxfp4.hpp"

namespace cke::kernels {
namespace k_quants {

template <u32 N, u32 G> void load(const float* in, side_by_side<N, G>& x) {
  for (u32 g = 0; g < G; ++g)
    for (u32 i = 0; i < N; ++i) x[i][g] = in[g * N + i];
}

// Recomputes the codes of all groups with the scales as stored in the file; a group whose scale is 0 keeps its codes.
template <u32 N, u32 G>
void recode(const side_by_side<N, G>& x, const float (&d)[G], const float (&least)[G], float low, float high,
            side_by_side<N, G>& codes) {
  for (u32 i = 0; i < N; ++i)
    for (u32 g = 0; g < G; ++g) {
      const float code = bounded(nearest((x[i][g] + least[g]) / d[g]), low, high) - low;
      codes[i][g] = d[g] != 0 ? code : codes[i][g];
    }
}
inline constexpr float no_least[16]{};

template <u32 N, u32 G> void flatten(const side_by_side<N, G>& codes, u32 (&out)[N * G]) {
  for (u32 g = 0; g < G; ++g)
    for (u32 i = 0; i < N; ++i) out[g * N + i] = static_cast<u32>(codes[i][g]);
}

// Two bits of every code: codes 32 apart share a byte, 128 of them 32 bytes.
inline void put_pairs(const u32 (&codes)[256], u32 from, std::byte* out) {
  for (u32 k = 0; k < 64; ++k) {
    u32 byte = 0;
    for (u32 part = 0; part < 4; ++part) byte |= (codes[k / 32 * 128 + part * 32 + k % 32] >> from & 3u) << 2 * part;
    write(out + k, static_cast<u8>(byte));
  }
}
// One bit of every code: codes 32 apart share a byte.
inline void put_bits(const u32 (&codes)[256], u32 from, std::byte* out) {
  for (u32 k = 0; k < 32; ++k) {
    u32 byte = 0;
    for (u32 s = 0; s < 8; ++s) byte |= (codes[s * 32 + k] >> from & 1u) << s;
    write(out + k, static_cast<u8>(byte));
  }
}
// Low nibbles: codes `apart` from each other share a byte.
inline void put_nibbles(const u32 (&codes)[256], u32 apart, std::byte* out) {
  for (u32 k = 0; k < 128; ++k) {
    const u32 first = k / apart * 2 * apart + k % apart;
    write(out + k, static_cast<u8>((codes[first] & 15u) | (codes[first + apart] & 15u) << 4));
  }
}

// Scale and minimum of eight groups of 32, 6 bits each, in 12 bytes.
inline void put_scales(const u32 (&scale)[8], const u32 (&least)[8], std::byte* out) {
  u32 q[12];
  for (u32 s = 0; s < 4; ++s) {
    q[s] = scale[s] | (scale[s + 4] >> 4) << 6;
    q[s + 4] = least[s] | (least[s + 4] >> 4) << 6;
    q[s + 8] = (scale[s + 4] & 15u) | (least[s + 4] & 15u) << 4;
  }
  for (u32 i = 0; i < 12; ++i) write(out + i, static_cast<u8>(q[i]));
}

// The common start of q4_k and q5_k: f16 scales of scales and minima, 12 bytes of these.
inline void affine(const float* in, float top, float from, u32 steps, std::byte* out, u32 (&flat)[256]) {
  side_by_side<32, 8> x, w, codes;
  load(in, x);
  float mean[8] = {}, scale[8], least[8];
  for (u32 i = 0; i < 32; ++i)
    for (u32 g = 0; g < 8; ++g) mean[g] += x[i][g] * x[i][g];
  for (u32 i = 0; i < 32; ++i)
    for (u32 g = 0; g < 8; ++g) w[i][g] = std::sqrt(mean[g] / 32) + std::abs(x[i][g]);
  fit_affine<false>(x, w, top, from, steps, scale, least, codes);
  const float most_scale = std::max(0.f, *std::max_element(scale, scale + 8)),
              most_least = std::max(0.f, *std::max_element(least, least + 8));
  const float d = from_f16(to_f16(most_scale / 63)), dmin = from_f16(to_f16(most_least / 63));
  u32 scale_code[8], least_code[8];
  const auto code = [](float most, float v) {
    return static_cast<u32>(bounded(nearest((most > 0 ? 63 / most : 0) * v), 0, 63));
  };
  for (u32 g = 0; g < 8; ++g) {
    scale_code[g] = code(most_scale, scale[g]), least_code[g] = code(most_least, least[g]);
    scale[g] = d * static_cast<float>(scale_code[g]), least[g] = dmin * static_cast<float>(least_code[g]);
  }
  recode(x, scale, least, 0, top, codes);
  flatten(codes, flat);
  write(out, to_f16(most_scale / 63));
  write(out + 2, to_f16(most_least / 63));
  put_scales(scale_code, least_code, out + 4);
}

// The factor from scales to codes: the scale farthest from 0, if beyond `zero`, becomes `least`, a negative code.
inline float codes_per_scale(const float (&scale)[16], float least, float zero) {
  float most = 0;
  for (const float s : scale) most = std::abs(s) > std::abs(most) ? s : most;
  return std::abs(most) > zero ? least / most : 0;
}

}  // namespace k_quants

inline void quantise_q4_k(const float* in, std::byte* out) {
  u32 codes[256];
  k_quants::affine(in, 15, -1, 20, out, codes);
  k_quants::put_nibbles(codes, 32, out + 16);
}

inline void quantise_q5_k(const float* in, std::byte* out) {
  u32 codes[256];
  k_quants::affine(in, 31, -0.5f, 15, out, codes);
  k_quants::put_bits(codes, 4, out + 16);
  k_quants::put_nibbles(codes, 32, out + 48);
}

inline void quantise_q6_k(const float* in, std::byte* out) {
  side_by_side<16, 16> x, codes;
  k_quants::load(in, x);
  float scale[16];
  fit_symmetric(x, 32, scale, codes);
  const float inverse = k_quants::codes_per_scale(scale, -128, nothing);
  const u16 d = to_f16(inverse != 0 ? 1 / inverse : 0);
  for (u32 g = 0; g < 16; ++g) {
    const float code = bounded(nearest(inverse * scale[g]), -128, 127);
    write(out + 192 + g, static_cast<i8>(code));
    scale[g] = from_f16(d) * code;
  }
  write(out + 208, d);
  if (inverse == 0) return void(std::memset(out, 0, 192));
  k_quants::recode(x, scale, k_quants::no_least, -32, 31, codes);
  u32 flat[256];
  k_quants::flatten(codes, flat);
  k_quants::put_nibbles(flat, 64, out);
  k_quants::put_pairs(flat, 4, out + 128);
}

inline void quantise_q3_k(const float* in, std::byte* out) {
  side_by_side<16, 16> x, codes;
  k_quants::load(in, x);
  float scale[16];
  fit_by_code(x, 4, scale, codes);
  const float inverse = k_quants::codes_per_scale(scale, -32, 0);
  const u16 d = to_f16(inverse != 0 ? 1 / inverse : 0);
  u32 packed[12] = {};
  for (u32 g = 0; g < 16; ++g) {
    const float code = bounded(nearest(inverse * scale[g]), -32, 31);
    const u32 bits = inverse != 0 ? static_cast<u32>(code + 32) : 0;
    packed[g % 8] |= (bits & 15u) << g / 8 * 4;
    packed[8 + g % 4] |= bits >> 4 << g / 4 * 2;
    scale[g] = from_f16(d) * code;
  }
  k_quants::recode(x, scale, k_quants::no_least, -4, 3, codes);
  u32 flat[256];
  k_quants::flatten(codes, flat);
  k_quants::put_bits(flat, 2, out);
  k_quants::put_pairs(flat, 0, out + 32);
  for (u32 i = 0; i < 12; ++i) write(out + 96 + i, static_cast<u8>(packed[i]));
  write(out + 108, d);
}

inline void quantise_q2_k(const float* in, std::byte* out) {
  side_by_side<16, 16> x, w, codes;
  k_quants::load(in, x);
  float scale[16], least[16];
  for (u32 i = 0; i < 16; ++i)
    for (u32 g = 0; g < 16; ++g) w[i][g] = std::abs(x[i][g]);
  fit_affine<true>(x, w, 3, -0.5f, 15, scale, least, codes);
  const float most_scale = std::max(0.f, *std::max_element(scale, scale + 16)),
              most_least = std::max(0.f, *std::max_element(least, least + 16));
  const u16 d = to_f16(most_scale / 15), dmin = to_f16(most_least / 15);
  const auto code = [](float most, float v) {
    return static_cast<u32>(bounded(nearest((most > 0 ? 15 / most : 0) * v), 0, 15));
  };
  for (u32 g = 0; g < 16; ++g) {
    const u32 s = code(most_scale, scale[g]), l = code(most_least, least[g]);
    write(out + g, static_cast<u8>(s | l << 4));
    scale[g] = from_f16(d) * static_cast<float>(s), least[g] = from_f16(dmin) * static_cast<float>(l);
  }
  k_quants::recode(x, scale, least, 0, 3, codes);
  u32 flat[256];
  k_quants::flatten(codes, flat);
  k_quants::put_pairs(flat, 0, out + 16);
  write(out + 80, d);
  write(out + 82, dmin);
}

// iq4_nl and iq4_xs: groups of 32, each with the best of 16 scales, errors weighted by x * x. A single group (iq4_nl)
// keeps its scale as f16; eight groups have 6-bit scales with a common f16 scale.
inline void quantise_iq4(const float* in, u32 groups_of_block, std::byte* out) {
  const auto value = [](u32 code) { return static_cast<float>(iq4_values.begin()[code]); };
  const auto nearest_code = [&](float v) {
    const auto* above = std::upper_bound(iq4_values.begin(), iq4_values.end(), v,
                                         [](float x, int y) { return x < static_cast<float>(y); });
    const u32 high = static_cast<u32>(std::clamp<std::ptrdiff_t>(above - iq4_values.begin(), 1, 15));
    return v <= value(0) ? 0u : v >= value(15) ? 15u : v - value(high - 1) < value(high) - v ? high - 1 : high;
  };
  float scale[8], most_scale = 0;
  for (u32 g = 0; g < groups_of_block; ++g) {
    const float* x = in + 32 * g;
    float most = 0, best = 0;
    for (u32 i = 0; i < 32; ++i) most = std::abs(x[i]) > std::abs(most) ? x[i] : most;
    scale[g] = 0;
    if (std::abs(most) < nothing) continue;
    const auto attempt = [&](float inverse, bool first) {
      float sum_qx = 0, sum_q2 = 0;
      for (u32 i = 0; i < 32; ++i) {
        const float q = value(nearest_code(inverse * x[i])), w = x[i] * x[i];
        sum_qx += w * q * x[i];
        sum_q2 += w * q * q;
      }
      if (sum_q2 > 0 && (first || sum_qx * sum_qx > best * sum_q2))
        scale[g] = sum_qx / sum_q2, best = scale[g] * sum_qx;
    };
    attempt(1 / (-most / value(0)), true);
    for (int step = -7; step <= 7; ++step) attempt((static_cast<float>(step) + value(0)) / most, false);
    most_scale = std::abs(scale[g]) > std::abs(most_scale) ? scale[g] : most_scale;
  }
  const bool many = groups_of_block > 1;
  const float d = many ? -most_scale / 32 : scale[0], inverse = d != 0 ? 1 / d : 0;
  write(out, to_f16(d));
  std::byte* const nibbles = out + (many ? 8 : 2);
  u32 low = 0, high = 0;
  for (u32 g = 0; g < groups_of_block; ++g) {
    const float code = bounded(nearest(inverse * scale[g]), -32, 31), step = many ? d * code : d;
    const float per_unit = step != 0 ? 1 / step : 0;
    const u32 bits = static_cast<u32>(code + 32);
    low |= (bits & 15u) << 4 * g;
    high |= bits >> 4 << 2 * g;
    for (u32 i = 0; i < 16; ++i)
      write(
          nibbles + 16 * g + i,
          static_cast<u8>(nearest_code(per_unit * in[32 * g + i]) | nearest_code(per_unit * in[32 * g + 16 + i]) << 4));
  }
  if (!many) return;
  write(out + 2, static_cast<u16>(high));
  write(out + 4, low);
}

}  // namespace cke::kernels

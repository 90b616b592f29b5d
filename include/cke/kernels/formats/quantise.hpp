// SPDX-License-Identifier: MIT
// quantise.hpp: rounds numbers to the blocks of files, bit for bit as ggml's reference does.
#pragma once

#include <algorithm>

#include "convert.hpp"
#include "quantise_k.hpp"

namespace cke::kernels {
namespace blocks_of_32 {

// Finite, or 0 for scales too small for their reciprocal.
inline float reciprocal(float d) {
  const float r = 1 / d;
  return std::isfinite(r) ? r : 0;
}
// Codes 0 to top, truncated.
inline u32 code(float v, u32 top) { return static_cast<u32>(bounded(v, 0, static_cast<float>(top))); }

// Nibble i and i + 16 in byte i, and bit 4 of code k in bit k of a word.
inline void put_codes(const u32 (&codes)[32], std::byte* nibbles, std::byte* fifths) {
  u32 word = 0;
  for (u32 i = 0; i < 16; ++i) write(nibbles + i, static_cast<u8>((codes[i] & 15u) | (codes[i + 16] & 15u) << 4));
  for (u32 i = 0; i < 32; ++i) word |= (codes[i] >> 4) << i;
  if (fifths) write(fifths, word);
}

// q4_0 and q5_0: the number farthest from 0 is code 0, and 0 is code `half`.
inline void symmetric(const float* in, u32 half, std::byte* out) {
  float most = 0;
  for (u32 i = 0; i < 32; ++i) most = std::abs(in[i]) > std::abs(most) ? in[i] : most;
  const float d = most / -static_cast<float>(half), inverse = reciprocal(d), middle = static_cast<float>(half) + 0.5f;
  u32 codes[32];
  for (u32 i = 0; i < 32; ++i) codes[i] = code(in[i] * inverse + middle, 2 * half - 1);
  write(out, to_f16(d));
  put_codes(codes, out + (half == 16 ? 6 : 2), half == 16 ? out + 2 : nullptr);
}

// q4_1 and q5_1: from the least number to the greatest.
inline void affine(const float* in, u32 top, std::byte* out) {
  const auto [low, high] = std::minmax_element(in, in + 32);
  const float d = (*high - *low) / static_cast<float>(top), inverse = reciprocal(d);
  u32 codes[32];
  for (u32 i = 0; i < 32; ++i) codes[i] = code((in[i] - *low) * inverse + 0.5f, top);
  write(out, to_f16(d));
  write(out + 2, to_f16(*low));
  put_codes(codes, out + (top == 31 ? 8 : 4), top == 31 ? out + 4 : nullptr);
}

// The scale is the power of two below the greatest number, divided by 4; each code is the nearest of 16 floats, the
// first of equals.
inline void mxfp4(const float* in, std::byte* out) {
  float most = 0;
  for (u32 i = 0; i < 32; ++i) most = std::max(most, std::abs(in[i]));
  const int exponent = most > 0 ? std::clamp(static_cast<int>(std::floor(std::log2(most))) - 2 + 127, 0, 254) : 0;
  const float d = std::bit_cast<float>(half_power_bits(static_cast<u32>(exponent)));
  u32 codes[32];
  for (u32 i = 0; i < 32; ++i) {
    const auto off = [&](int value) { return std::abs(static_cast<float>(value) * d - in[i]); };
    const auto* nearest_value =
        std::min_element(mxfp4_values.begin(), mxfp4_values.end(), [&](int a, int b) { return off(a) < off(b); });
    codes[i] = static_cast<u32>(nearest_value - mxfp4_values.begin());
  }
  write(out, static_cast<u8>(exponent));
  put_codes(codes, out + 1, nullptr);
}

}  // namespace blocks_of_32

// `count` floats as elements of type `to`; count is a multiple of its block. Numbers are finite, and for types with
// f16 scales at most 65504.
inline void quantise(dtype to, const float* in, u64 count, std::byte* out) {
  const dtype_info& type = info(to);
  for (u64 at = 0; at < count; at += type.block, in += type.block, out += type.bytes) switch (to) {
      case dtype::q4_0: blocks_of_32::symmetric(in, 8, out); break;
      case dtype::q4_1: blocks_of_32::affine(in, 15, out); break;
      case dtype::q5_0: blocks_of_32::symmetric(in, 16, out); break;
      case dtype::q5_1: blocks_of_32::affine(in, 31, out); break;
      case dtype::mxfp4: blocks_of_32::mxfp4(in, out); break;
      case dtype::q2_k: quantise_q2_k(in, out); break;
      case dtype::q3_k: quantise_q3_k(in, out); break;
      case dtype::q4_k: quantise_q4_k(in, out); break;
      case dtype::q5_k: quantise_q5_k(in, out); break;
      case dtype::q6_k: quantise_q6_k(in, out); break;
      case dtype::iq4_nl: quantise_iq4(in, 1, out); break;
      case dtype::iq4_xs: quantise_iq4(in, 8, out); break;
      default: from_f32(to, in, type.block, out);
    }
}

}  // namespace cke::kernels

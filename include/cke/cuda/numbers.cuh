// SPDX-License-Identifier: MIT
// numbers.cuh: math functions with the CPU's bits, and sums in the CPU's order.
#pragma once

#include "../core/dtype.hpp"
#include "../core/params.hpp"
#include "dev.cuh"

namespace cke::cuda {

// Requires that only explicit fmas are fused, subnormals are flushed and division is exact: nvcc --fmad=false
// --ftz=true, or g++ -ffp-contract=off under kernel_float_mode.

// 2^n * e^r, as simd::exp_of_parts computes it.
CKE_DEVICE float exp_of_parts(float n, float r) {
  float p = 1.9875691500e-4f;
  p = dev::fma(p, r, 1.3981999507e-3f);
  p = dev::fma(p, r, 8.3334519073e-3f);
  p = dev::fma(p, r, 4.1665795894e-2f);
  p = dev::fma(p, r, 1.6666665459e-1f);
  p = dev::fma(p, r, 5.0000001201e-1f);
  p = dev::fma(p, r * r, r) + 1.f;
  return p * dev::bits<float>((static_cast<i32>(n) + 127) << 23);
}
// NaN stays NaN.
CKE_DEVICE float clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }
CKE_DEVICE float exp2(float x) {
  x = clamp(x, -127.f, 128.f);
  const float n = dev::nearest(x);
  return exp_of_parts(n, (x - n) * 0.693147181f);
}
CKE_DEVICE float exp(float x) {
  x = clamp(x, -88.03f, 88.73f);
  const float n = dev::nearest(x * 1.44269504f);
  const float r = dev::fma(-n, 0.693359375f, x);
  return exp_of_parts(n, dev::fma(-n, -2.12194440e-4f, r));
}
// For positive normal x, within a few ulp: x = m 2^e with m in [sqrt(1/2), sqrt(2)), then cephes' logf.
CKE_DEVICE float log(float x) {
  const u32 b = dev::bits<u32>(x), shifted = b - 0x3f3504f3u;  // sqrt(1/2)
  const float e = static_cast<float>(static_cast<i32>(shifted) >> 23);
  const float f = dev::bits<float>((shifted & 0x7fffffu) + 0x3f3504f3u) - 1.f, square = f * f;
  float p = 7.0376836292e-2f;
  p = dev::fma(p, f, -1.1514610310e-1f);
  p = dev::fma(p, f, 1.1676998740e-1f);
  p = dev::fma(p, f, -1.2420140846e-1f);
  p = dev::fma(p, f, 1.4249322787e-1f);
  p = dev::fma(p, f, -1.6668057665e-1f);
  p = dev::fma(p, f, 2.0000714765e-1f);
  p = dev::fma(p, f, -2.4999993993e-1f);
  p = dev::fma(p, f, 3.3333331174e-1f);
  const float low = dev::fma(e, -2.12194440e-4f, p * f * square) - 0.5f * square;
  return dev::fma(e, 0.693359375f, f + low);
}
CKE_DEVICE float tanh(float x) { return 1.f - dev::divide(2.f, 1.f + exp(x + x)); }

CKE_DEVICE float activate(activation a, float x) {
  switch (a) {
    case activation::silu: return dev::divide(x, 1.f + exp(-x));
    case activation::gelu_tanh: {
      const float u = 0.79788456f * dev::fma(0.044715f * x * x, x, x);
      return dev::divide(x, 1.f + exp(-2.f * u));
    }
    case activation::gelu_erf: return 0.5f * x * (1.f + ::erff(x * 0.70710678f));  // erff's bits differ from the CPU's
    default: {
      const float positive = x > 0 ? x : 0.f;
      return positive * positive;
    }
  }
}

// ---- 16-bit floats; conversions to f32 are exact, those from f32 round to nearest even ---------------

CKE_DEVICE float float_of_bf16(u32 x) { return dev::bits<float>(x << 16); }
CKE_DEVICE u16 bf16_of(float x) {
  const u32 b = dev::bits<u32>(x);
  if ((b & 0x7fffffff) > 0x7f800000) return static_cast<u16>((b >> 16) | 64);
  return static_cast<u16>((b + 0x7fff + ((b >> 16) & 1)) >> 16);
}
CKE_DEVICE float float_of_f16(u32 h) { return dev::float_of_half(h); }
CKE_DEVICE u16 f16_of(float x) { return dev::half_of(x); }

// ---- sums --------------------------------------------------------------------------------------------

// A CPU with AVX-512 sums in 16 lanes, which it adds by halving; these functions do the same. A CPU with other
// registers gets other last bits.
inline constexpr u32 sum_lanes = 16, square_chains = 4 * sum_lanes;

// Every lane returns the sum of x over lanes 0 to 15; lanes l and l + 16 hold the same x.
CKE_DEVICE float sum_of_lanes(float x) {
  for (u32 apart = sum_lanes / 2; apart > 0; apart /= 2) x += dev::shuffle_xor(x, apart);
  return x;
}

// Chain q < 64 of the sum of squares of at(0 .. n); rms_norm_kernel::squares holds them in four registers.
template <class At> CKE_DEVICE float square_chain(u32 n, u32 q, At&& at) {
  const u32 whole = n / square_chains * square_chains;
  float sum = 0;
  for (u32 i = q; i < whole; i += square_chains) sum = dev::fma(at(i), at(i), sum);
  if (q < sum_lanes)
    for (u32 i = whole + q; i < n; i += sum_lanes) sum = dev::fma(at(i), at(i), sum);
  return sum;
}
// One warp computes the sum of squares of at(0 .. n).
template <class At> CKE_DEVICE float squares_by_warp(u32 n, At&& at) {
  const float low = square_chain(n, dev::lane(), at), high = square_chain(n, dev::lane() + 32, at);
  return sum_of_lanes((low + dev::shuffle_xor(low, 16)) + (high + dev::shuffle_xor(high, 16)));
}
CKE_DEVICE float norm_scale(float squares, u32 n, float eps) {
  return dev::divide(1.f, dev::root(dev::divide(squares, static_cast<float>(n)) + eps));
}

// ---- activations as bytes ----------------------------------------------------------------------------

// Lane i's share of 32 numbers quantised to int8 with scale d: see kernels/operand.hpp.
struct quantised {
  i32 code;
  float d;
  i32 sum;  // of the 32 codes
};
CKE_DEVICE quantised quantise(float x) {
  // Compared as bits, so that a NaN or an infinity becomes the scale.
  const u32 top = dev::greatest_of_warp(dev::bits<u32>(x) & 0x7fffffffu);
  const float most = dev::bits<float>(top), by = most < 0x1p-119f ? 0.f : dev::divide(127.f, most);
  const float scaled = dev::nearest(x * by);
  quantised q{scaled >= -128.f && scaled <= 127.f ? static_cast<i32>(scaled) : 0, dev::divide(most, 127.f), 0};
  q.sum = dev::sum_of_warp(q.code);
  return q;
}

}  // namespace cke::cuda

// SPDX-License-Identifier: MIT
// rope.hpp: the rotation of rotary position embeddings.
#pragma once

#include <cmath>

#include "../../core/isa.hpp"
#include "../../core/params.hpp"

namespace cke::kernels {

// The dims of a head that rope_kernel visits, and twice the width of its cos and sin rows. A proportional rope rotates
// r.dims of them, but its pairs are head_dim / 2 apart.
constexpr u32 rope_width(const rotary& r, u32 head_dim) {
  return r.rule == rope_scaling::proportional ? head_dim : r.dims;
}

// Rotates the first `dims` of one head in place: pair (a, b) becomes (a c - b s, b c + a s).
// cos, sin: [dims / 2]. dims is even.
template <class Isa> struct rope_kernel {
  using batch = isa::batch<Isa, float>;
  static constexpr u32 lanes = Isa::lanes;

  static void apply(float* x, const float* cos, const float* sin, u32 dims, pairing pairs) {
    const u32 half = dims / 2, quarter = dims / 4;
    if (pairs == pairing::split) {
      split(x, x + half, cos, sin, half);
    } else if (pairs == pairing::adjacent) {
      adjacent(x, cos, sin, half);
    } else {
      split(x, x + quarter, cos, sin, quarter);
      split(x + half, x + half + quarter, cos + quarter, sin + quarter, quarter);
    }
  }

 private:
  static void split(float* x, float* y, const float* cos, const float* sin, u32 half) {
    u32 i = 0;
    for (; i + lanes <= half; i += lanes) {
      const batch a = batch::load_unaligned(x + i), b = batch::load_unaligned(y + i);
      const batch c = batch::load_unaligned(cos + i), s = batch::load_unaligned(sin + i);
      xsimd::fms(a, c, b * s).store_unaligned(x + i);
      xsimd::fma(b, c, a * s).store_unaligned(y + i);
    }
    for (; i < half; ++i) turn(x[i], y[i], cos[i], sin[i]);
  }

  static void adjacent(float* x, const float* cos, const float* sin, u32 half) {
    for (u32 i = 0; i < half; ++i) turn(x[2 * i], x[2 * i + 1], cos[i], sin[i]);
  }

  static void turn(float& x, float& y, float c, float s) {
    const float a = x, b = y;
    x = std::fma(a, c, -(b * s));
    y = std::fma(b, c, a * s);
  }
};

template <> struct rope_kernel<isa::scalar> {
  static void apply(float* x, const float* cos, const float* sin, u32 dims, pairing pairs) {
    if (pairs == pairing::split_halves)
      for (u32 h = 0; h < 2; ++h) turn(x + h * dims / 2, cos + h * dims / 4, sin + h * dims / 4, dims / 4, dims / 4, 1);
    else if (pairs == pairing::split) turn(x, cos, sin, dims / 2, dims / 2, 1);
    else turn(x, cos, sin, dims / 2, 1, 2);
  }

 private:
  // `count` pairs of numbers that are `apart`; the next pair begins `step` after one.
  static void turn(float* x, const float* cos, const float* sin, u32 count, u32 apart, u32 step) {
    for (u32 i = 0; i < count; ++i) {
      float &x0 = x[i * step], &x1 = x[i * step + apart];
      const float a = x0, b = x1;
      x0 = a * cos[i] - b * sin[i];
      x1 = b * cos[i] + a * sin[i];
    }
  }
};

}  // namespace cke::kernels

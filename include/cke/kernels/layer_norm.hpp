// SPDX-License-Identifier: MIT
// layer_norm.hpp: layer normalisation of a row: mean 0, variance 1, then a weight and a bias.
#pragma once

#include <algorithm>
#include <cmath>

#include "../core/simd.hpp"

namespace cke::kernels {

// out[i] = (x[i] - mean) / sqrt(variance + eps) * w[i] + b[i]; x, w, b, out: [n]; out may be x.
template <class Isa> struct layer_norm_kernel {
  using batch = simd::vf32<Isa>;
  static constexpr u32 lanes = Isa::lanes;

  static void row(const float* x, const float* w, const float* b, u32 n, float eps, float* out) {
    const float mean = sum_of(x, n, [](batch v) { return v; }) / static_cast<float>(n);
    const batch m(mean);
    const float squares = sum_of(x, n, [&](batch v) { return (v - m) * (v - m); });
    const float scale = 1.f / std::sqrt(squares / static_cast<float>(n) + eps);
    const batch s(scale);
    u32 i = 0;
    for (; i + lanes <= n; i += lanes) {
      const batch normed = (batch::load_unaligned(x + i) - m) * s;
      xsimd::fma(normed, batch::load_unaligned(w + i), batch::load_unaligned(b + i)).store_unaligned(out + i);
    }
    for (; i < n; ++i) out[i] = std::fma((x[i] - mean) * scale, w[i], b[i]);
  }

 private:
  // Sum of f(x[i]). The order of the additions depends on n alone.
  template <class F> static float sum_of(const float* x, u32 n, F f) {
    constexpr u32 chains = 4;  // hide the latency of the addition
    batch sum[chains]{batch(0.f), batch(0.f), batch(0.f), batch(0.f)};
    u32 i = 0;
    for (; i + chains * lanes <= n; i += chains * lanes)
      for (u32 c = 0; c < chains; ++c) sum[c] += f(batch::load_unaligned(x + i + c * lanes));
    for (; i < n; i += lanes) {
      const u32 m = std::min(lanes, n - i);
      alignas(64) float rest[lanes]{};
      std::copy_n(x + i, m, rest);
      f(batch::load_unaligned(rest)).store_unaligned(rest);
      std::fill(rest + m, rest + lanes, 0.f);  // f(0) may not be 0
      sum[0] += batch::load_unaligned(rest);
    }
    return simd::reduce_add<Isa>((sum[0] + sum[1]) + (sum[2] + sum[3]));
  }
};

template <> struct layer_norm_kernel<isa::scalar> {
  static void row(const float* x, const float* w, const float* b, u32 n, float eps, float* out) {
    float mean = 0, squares = 0;
    for (u32 i = 0; i < n; ++i) mean += x[i];
    mean /= static_cast<float>(n);
    for (u32 i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const float scale = 1.f / std::sqrt(squares / static_cast<float>(n) + eps);
    for (u32 i = 0; i < n; ++i) out[i] = (x[i] - mean) * scale * w[i] + b[i];
  }
};

}  // namespace cke::kernels

// SPDX-License-Identifier: MIT
// rms_norm.hpp: root-mean-square normalisation of a row, or of one head.
#pragma once

#include <algorithm>
#include <cmath>

#include "../core/simd.hpp"

namespace cke::kernels {

// out[i] = x[i] / sqrt(mean(x^2) + eps) * (w[i] + offset); w null: weights of 1. x, w, out: [n];
// out may be x. Gemma's checkpoints store w - 1: offset 1.
template <class Isa> struct rms_norm_kernel {
  using batch = simd::vf32<Isa>;
  static constexpr u32 lanes = Isa::lanes;

  static void row(const float* x, const float* w, u32 n, float eps, float offset, float* out);
  // Sum of squares. The order of the additions depends on n alone.
  static float squares(const float* x, u32 n);
};

template <class Isa>
void rms_norm_kernel<Isa>::row(const float* x, const float* w, u32 n, float eps, float offset, float* out) {
  const float scale = 1.f / std::sqrt(squares(x, n) / static_cast<float>(n) + eps);
  const batch s(scale), o(offset);
  u32 i = 0;
  for (; i + lanes <= n; i += lanes) {
    const batch normed = batch::load_unaligned(x + i) * s;
    (w ? normed * (batch::load_unaligned(w + i) + o) : normed).store_unaligned(out + i);
  }
  for (; i < n; ++i) out[i] = w ? x[i] * scale * (w[i] + offset) : x[i] * scale;
}

template <class Isa> float rms_norm_kernel<Isa>::squares(const float* x, u32 n) {
  constexpr u32 chains = 4;  // hide the latency of the fma
  batch sum[chains]{batch(0.f), batch(0.f), batch(0.f), batch(0.f)};
  u32 i = 0;
  for (; i + chains * lanes <= n; i += chains * lanes)
    for (u32 c = 0; c < chains; ++c) {
      const batch v = batch::load_unaligned(x + i + c * lanes);
      sum[c] = xsimd::fma(v, v, sum[c]);
    }
  for (; i < n; i += lanes) {
    alignas(64) float rest[lanes]{};
    std::copy_n(x + i, std::min(lanes, n - i), rest);
    const batch v = batch::load_unaligned(rest);
    sum[0] = xsimd::fma(v, v, sum[0]);
  }
  return simd::reduce_add<Isa>((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

template <> struct rms_norm_kernel<isa::scalar> {
  static void row(const float* x, const float* w, u32 n, float eps, float offset, float* out) {
    float sum = 0;
    for (u32 i = 0; i < n; ++i) sum += x[i] * x[i];
    const float scale = 1.f / std::sqrt(sum / static_cast<float>(n) + eps);
    for (u32 i = 0; i < n; ++i) out[i] = x[i] * scale * (w ? w[i] + offset : 1.f);
  }
};

#ifdef CKE_COMPILED  // embeddings norm rows outside of steps
extern template struct rms_norm_kernel<isa::native>;
#endif

}  // namespace cke::kernels

// SPDX-License-Identifier: MIT
// activation.hpp: the pointwise functions of an mlp, alone or as the gate of another row; softcap.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "../core/exp.hpp"
#include "../core/params.hpp"
#include "../core/simd.hpp"

namespace cke::kernels {

// A row of n as whole registers and the rest in part of one: f(index, count).
template <class Isa> struct pointwise {
  using batch = simd::vf32<Isa>;
  static constexpr u32 lanes = Isa::lanes;

  template <class F> CKE_INLINE static void each(u32 n, F&& f) {
    for (u32 i = 0; i < n; i += lanes) f(i, std::min(lanes, n - i));
  }
  CKE_INLINE static batch get(const float* x, u32 m) {
    if (m == lanes) return batch::load_unaligned(x);
    alignas(64) float part[lanes]{};
    std::copy_n(x, m, part);
    return batch::load_unaligned(part);
  }
  CKE_INLINE static void put(batch y, float* out, u32 m) {
    if (m == lanes) return y.store_unaligned(out);
    alignas(64) float part[lanes];
    y.store_unaligned(part);
    std::copy_n(part, m, out);
  }
};

// of(x) is one value or register; row: out[i] = of(x[i]); gated: out[i] = of(gate[i]) * up[i].
// Rows are [n]; out may be an input. A value's bits do not depend on where in the row it stands.
template <activation A, class Isa> struct activate : pointwise<Isa> {
  using batch = simd::vf32<Isa>;
  using pointwise<Isa>::each, pointwise<Isa>::get, pointwise<Isa>::put;

  CKE_INLINE static batch of(batch x) {
    const batch one(1.f), half(0.5f);
    if constexpr (A == activation::silu) {
      return simd::quotient<Isa>(x, one + simd::exp<Isa>(-x));
    } else if constexpr (A == activation::gelu_tanh) {
      // 0.5 (1 + tanh(u)) is 1 / (1 + exp(-2u))
      const batch u = batch(std::numbers::sqrt2_v<float> * std::numbers::inv_sqrtpi_v<float>) *
          xsimd::fma(batch(0.044715f) * x * x, x, x);
      return simd::quotient<Isa>(x, one + simd::exp<Isa>(batch(-2.f) * u));
    } else if constexpr (A == activation::gelu_erf) {
      return half * x * (one + xsimd::erf(x * batch(1 / std::numbers::sqrt2_v<float>)));
    } else {
      const batch positive = xsimd::max(x, batch(0.f));
      return positive * positive;
    }
  }

  static void row(const float* x, u32 n, float* out) {
    each(n, [&](u32 i, u32 m) { put(of(get(x + i, m)), out + i, m); });
  }
  static void gated(const float* gate, const float* up, u32 n, float* out) {
    each(n, [&](u32 i, u32 m) { put(of(get(gate + i, m)) * get(up + i, m), out + i, m); });
  }
};

template <activation A> struct activate<A, isa::scalar> {
  static float of(float x) {
    if constexpr (A == activation::silu) return x / (1 + rounded_exp(-x));
    if constexpr (A == activation::gelu_tanh)
      return 0.5f * x * (1 + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
    if constexpr (A == activation::gelu_erf) return 0.5f * x * (1 + std::erf(x / std::numbers::sqrt2_v<float>));
    return x > 0 ? x * x : 0;
  }
  static void row(const float* x, u32 n, float* out) {
    for (u32 i = 0; i < n; ++i) out[i] = of(x[i]);
  }
  static void gated(const float* gate, const float* up, u32 n, float* out) {
    for (u32 i = 0; i < n; ++i) out[i] = of(gate[i]) * up[i];
  }
};

// out[i] = x[i] / (1 + exp(-gate[i])); rows as above.
template <class Isa> struct sigmoid_gated : pointwise<Isa> {
  using batch = simd::vf32<Isa>;
  static void row(const float* gate, const float* x, u32 n, float* out) {
    sigmoid_gated::each(n, [&](u32 i, u32 m) {
      const batch below = batch(1.f) + simd::exp<Isa>(-sigmoid_gated::get(gate + i, m));
      sigmoid_gated::put(simd::quotient<Isa>(sigmoid_gated::get(x + i, m), below), out + i, m);
    });
  }
};
template <> struct sigmoid_gated<isa::scalar> {
  static void row(const float* gate, const float* x, u32 n, float* out) {
    for (u32 i = 0; i < n; ++i) out[i] = x[i] / (1 + rounded_exp(-gate[i]));
  }
};

// out[i] = cap * tanh(x[i] / cap); rows as above.
template <class Isa> struct capped : pointwise<Isa> {
  using batch = simd::vf32<Isa>;
  static void row(const float* x, float cap, u32 n, float* out) {
    const batch most(cap);
    capped::each(n, [&](u32 i, u32 m) {
      capped::put(xsimd::tanh(simd::quotient<Isa>(capped::get(x + i, m), most)) * most, out + i, m);
    });
  }
};
template <> struct capped<isa::scalar> {
  static void row(const float* x, float cap, u32 n, float* out) {
    for (u32 i = 0; i < n; ++i) out[i] = cap * std::tanh(x[i] / cap);
  }
};

}  // namespace cke::kernels

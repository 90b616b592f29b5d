// SPDX-License-Identifier: MIT
// slope.hpp: derivatives of the pointwise functions of kernels/activation.hpp.
#pragma once

#include "../kernels/activation.hpp"

namespace cke::train {

// f<A>() for an activation that is known at run time.
template <class F> void with_activation(activation a, F&& f) {
  switch (a) {
    case activation::silu: return f.template operator()<activation::silu>();
    case activation::gelu_tanh: return f.template operator()<activation::gelu_tanh>();
    case activation::gelu_erf: return f.template operator()<activation::gelu_erf>();
    case activation::relu2: return f.template operator()<activation::relu2>();
  }
}

// What the formulas below need of a number, whether it is one float or a register of them.
template <class Isa> struct pointwise_math : pointwise<Isa> {
  using number = simd::vf32<Isa>;
  using pointwise<Isa>::each, pointwise<Isa>::get, pointwise<Isa>::put;
  CKE_INLINE static number exp(number x) { return simd::exp<Isa>(x); }
  CKE_INLINE static number erf(number x) { return xsimd::erf(x); }
  CKE_INLINE static number quotient(number a, number b) { return simd::quotient<Isa>(a, b); }
  CKE_INLINE static number positive(number x) { return xsimd::max(x, number(0.f)); }
};
template <> struct pointwise_math<isa::scalar> {
  using number = float;
  template <class F> static void each(u32 n, F&& f) {
    for (u32 i = 0; i < n; ++i) f(i, 1u);
  }
  static float get(const float* x, u32) { return *x; }
  static void put(float y, float* out, u32) { *out = y; }
  static float exp(float x) { return std::exp(x); }
  static float erf(float x) { return std::erf(x); }
  static float quotient(float a, float b) { return a / b; }
  static float positive(float x) { return x > 0 ? x : 0; }
};

// of(x, y, dy): y = act(x) and dy its derivative at x.
template <activation A, class Isa> struct slope : pointwise_math<Isa> {
  using m = pointwise_math<Isa>;
  using number = typename m::number;

  CKE_INLINE static void of(number x, number& y, number& dy) {
    const number one(1.f), half(0.5f);
    if constexpr (A == activation::silu) {
      const number s = m::quotient(one, one + m::exp(-x));
      y = x * s, dy = s * (one + x * (one - s));
    } else if constexpr (A == activation::gelu_tanh) {  // s(x) = 0.5 (1 + tanh(u)) = 1 / (1 + exp(-2 u))
      const number by(std::numbers::sqrt2_v<float> * std::numbers::inv_sqrtpi_v<float>), cube(0.044715f);
      const number s = m::quotient(one, one + m::exp(number(-2.f) * by * x * (one + cube * x * x)));
      y = x * s, dy = s + x * number(2.f) * s * (one - s) * by * (one + number(3.f) * cube * x * x);
    } else if constexpr (A == activation::gelu_erf) {
      const number s = half * (one + m::erf(x * number(1 / std::numbers::sqrt2_v<float>)));
      const number density =
          m::exp(-half * x * x) * number(std::numbers::inv_sqrtpi_v<float> / std::numbers::sqrt2_v<float>);
      y = x * s, dy = s + x * density;
    } else {
      const number p = m::positive(x);
      y = p * p, dy = number(2.f) * p;
    }
  }

  // dx += dy act'(x)
  static void row(const float* x, const float* dy, u32 n, float* dx) {
    m::each(n, [&](u32 i, u32 k) {
      number y, d;
      of(m::get(x + i, k), y, d);
      m::put(m::get(dx + i, k) + m::get(dy + i, k) * d, dx + i, k);
    });
  }
  // The way back through y = act(gate) up.
  static void gated(const float* gate, const float* up, const float* dy, u32 n, float* dgate, float* dup) {
    m::each(n, [&](u32 i, u32 k) {
      number y, d;
      of(m::get(gate + i, k), y, d);
      const number g = m::get(dy + i, k);
      m::put(m::get(dgate + i, k) + g * m::get(up + i, k) * d, dgate + i, k);
      m::put(m::get(dup + i, k) + g * y, dup + i, k);
    });
  }
};

// The way back through y = x sigmoid(gate).
template <class Isa> struct sigmoid_slope : pointwise_math<Isa> {
  using m = pointwise_math<Isa>;
  using number = typename m::number;
  static void row(const float* gate, const float* x, const float* dy, u32 n, float* dgate, float* dx) {
    m::each(n, [&](u32 i, u32 k) {
      const number one(1.f), s = m::quotient(one, one + m::exp(-m::get(gate + i, k))), g = m::get(dy + i, k);
      m::put(m::get(dgate + i, k) + g * m::get(x + i, k) * s * (one - s), dgate + i, k);
      m::put(m::get(dx + i, k) + g * s, dx + i, k);
    });
  }
};

}  // namespace cke::train

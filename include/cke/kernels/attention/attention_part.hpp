// SPDX-License-Identifier: MIT
// attention_part.hpp: partial attention of a query over some of its keys, and how partial results add up.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "../../core/exp.hpp"
#include "../../core/params.hpp"
#include "../../core/simd.hpp"

namespace cke::kernels {

// A part is a row of floats: o, the sum of p v [width], then m, the greatest score, and l, the sum of
// p = exp2(score - m). (The scalar kernel's m is of base e.)
template <class Isa> struct attention_part {
  static constexpr u32 floats(u32 width) { return width + 16; }

  static float& m(float* part, u32 width) { return part[width]; }
  static float& l(float* part, u32 width) { return part[width + 1]; }

  static void clear(float* part, u32 width) {
    std::fill_n(part, width, 0.f);
    m(part, width) = std::numeric_limits<float>::lowest(), l(part, width) = 0;
  }
  // Both sides are rescaled to the greater maximum. A part without keys adds nothing.
  CKE_OUT_OF_LINE static void add(float* to, float* from, u32 width) {
    if (l(from, width) == 0) return;
    const float top = std::max(m(to, width), m(from, width));
    const float old = power(m(to, width) - top), fresh = power(m(from, width) - top);
    m(to, width) = top;
    l(to, width) = l(to, width) * old + l(from, width) * fresh;
    if constexpr (simd::is_scalar<Isa>) {
      for (u32 i = 0; i < width; ++i) to[i] = to[i] * old + from[i] * fresh;
    } else {
      using batch = simd::vf32<Isa>;
      for (u32 i = 0; i < width; i += Isa::lanes)
        xsimd::fma(batch::load_unaligned(to + i), batch(old), batch::load_unaligned(from + i) * batch(fresh))
            .store_unaligned(to + i);
    }
  }
  static void end(float* part, u32 width, u32 head_dim, float* out) {
    const float inverse = 1.f / l(part, width);
    for (u32 i = 0; i < head_dim; ++i) out[i] = part[i] * inverse;
  }

 private:
  static float power(float x) {
    if constexpr (simd::is_scalar<Isa>) return rounded_exp(x);
    else return simd::exp2<Isa>(simd::vf32<Isa>(x)).get(0);
  }
};

}  // namespace cke::kernels

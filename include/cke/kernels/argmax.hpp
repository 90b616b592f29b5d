// SPDX-License-Identifier: MIT
// argmax.hpp: the greatest logit; ties go to the lowest id, whoever looked first.
#pragma once

#include <limits>

#include "../core/simd.hpp"

namespace cke::kernels {

// The best of some ids. A default one is worse than any logit; NaN counts as -infinity.
struct best_token {
  float logit = -std::numeric_limits<float>::infinity();
  u32 id = ~0u;

  // Associative and commutative, so partial results may be combined in any order.
  friend constexpr best_token better(best_token a, best_token b) {
    return b.logit > a.logit || (b.logit == a.logit && b.id < a.id) ? b : a;
  }
};

template <class Isa> struct argmax {
  // The best of x[0..n), whose ids begin at first_id. n > 0.
  static best_token span(const float* x, u32 n, u32 first_id) {
    using batch = isa::batch<Isa, float>;
    constexpr u32 lanes = Isa::lanes;
    batch top(best_token{}.logit);
    u32 i = 0;
    for (; i + lanes <= n; i += lanes) {
      const batch v = batch::load_unaligned(x + i);
      top = xsimd::select(v > top, v, top);  // not max(): a NaN must lose
    }
    best_token best{simd::reduce_max<Isa>(top), first_id};
    for (; i < n; ++i)
      if (x[i] > best.logit) best.logit = x[i];
    for (i = 0; i < n; ++i)  // the first that equals it; none does when all are NaN
      if (x[i] == best.logit) return {best.logit, first_id + i};
    return best;
  }
};

template <> struct argmax<isa::scalar> {
  static best_token span(const float* x, u32 n, u32 first_id) {
    best_token best{best_token{}.logit, first_id};
    for (u32 i = 0; i < n; ++i)
      if (x[i] > best.logit) best = {x[i], first_id + i};
    return best;
  }
};

}  // namespace cke::kernels

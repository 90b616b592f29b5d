// SPDX-License-Identifier: MIT
// exp.hpp: e^x of one number, with the same bits on every CPU and GPU.
#pragma once

#include <bit>

#include "types.hpp"

namespace cke {

// Computed in double to a relative error of 1e-13, then rounded. NaN stays NaN.
constexpr float rounded_exp(float x) {
  const double y = x < -104.f ? -104.f : x > 89.f ? 89.f : x;  // outside, the result is 0 or infinity
  const double shifted = y * 0x1.71547652b82fep+0 + 0x1.8p52, n = shifted - 0x1.8p52;  // n: y log2(e), rounded
  const double r = y - n * 0x1.62e42fefa39efp-1;                                       // y - n ln(2)
  double sum = 1. / 39916800;                                                          // 1/k!, starting at k = 11
  for (const double c :
       {1. / 3628800, 1. / 362880, 1. / 40320, 1. / 5040, 1. / 720, 1. / 120, 1. / 24, 1. / 6, 0.5, 1., 1.})
    sum = sum * r + c;
  return static_cast<float>(sum * std::bit_cast<double>((std::bit_cast<u64>(shifted) + 1023) << 52));
}

}  // namespace cke

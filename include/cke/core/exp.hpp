// SPDX-License-Identifier: MIT
// exp.hpp: e^x of single numbers, with the same bits on every CPU and on devices.
#pragma once

#include <bit>

#include "types.hpp"

namespace cke {

// Rounded from a double that is right to 1e-13. NaN stays NaN.
constexpr float rounded_exp(float x) {
  const double y = x < -104.f ? -104.f : x > 89.f ? 89.f : x;  // beyond: 0 and infinity
  const double shifted = y * 0x1.71547652b82fep+0 + 0x1.8p52, n = shifted - 0x1.8p52;  // of log2(e), to the nearest whole number
  const double r = y - n * 0x1.62e42fefa39efp-1;                                       // of ln(2)
  double sum = 1. / 39916800;  // 1/k! from k = 11 on
  for (const double c : {1. / 3628800, 1. / 362880, 1. / 40320, 1. / 5040, 1. / 720, 1. / 120, 1. / 24, 1. / 6, 0.5, 1., 1.}) sum = sum * r + c;
  return static_cast<float>(sum * std::bit_cast<double>((std::bit_cast<u64>(shifted) + 1023) << 52));
}

}  // namespace cke

// SPDX-License-Identifier: MIT
// k_quant_search.hpp: the searches for the scales of K-quants that give the least error.
#pragma once

#include <cmath>

#include "../../core/types.hpp"

namespace cke::kernels {

// The groups of a block side by side, one per lane: number i of group g in x[i][g]. In every lane the sums run in the
// order of ggml's reference, so that the bits match.
template <u32 N, u32 G> using side_by_side = float[N][G];

// Rounds to the nearest whole number, halves to even: |v| < 2^22.
CKE_INLINE float nearest(float v) { return (v + 0x1.8p23f) - 0x1.8p23f; }
// The lower bound if v is a NaN.
CKE_INLINE float bounded(float v, float low, float high) {
  const float at_least = v > low ? v : low;
  return at_least < high ? at_least : high;
}
// Groups whose greatest number is below this count as zero.
inline constexpr float nothing = 1e-15f;

// Fits x ~ scale * code - least, codes 0 to `top`, least >= 0, with errors weighted by w. Beside the full range as
// `top` codes, tries `steps` + 1 other counts: top + from, top + from + 0.1, and so on. Keeps the best scale and least,
// each by least squares. The error is squared, or `absolute`.
template <bool Absolute, u32 N, u32 G>
void fit_affine(const side_by_side<N, G>& x, const side_by_side<N, G>& w, float top, float from, u32 steps,
                float (&scale)[G], float (&least)[G], side_by_side<N, G>& codes) {
  float low[G], high[G], sum_w[G], sum_x[G], best[G];
  bool flat[G];
  side_by_side<N, G> trial;
  for (u32 g = 0; g < G; ++g) low[g] = high[g] = x[0][g], sum_w[g] = w[0][g], sum_x[g] = w[0][g] * x[0][g];
  for (u32 i = 1; i < N; ++i)
    for (u32 g = 0; g < G; ++g) {
      low[g] = x[i][g] < low[g] ? x[i][g] : low[g];
      high[g] = x[i][g] > high[g] ? x[i][g] : high[g];
      sum_w[g] += w[i][g];
      sum_x[g] += w[i][g] * x[i][g];
    }
  const auto error = [](float code, float s, float l, float number, float weight) {
    const float off = s * code + l - number;
    return weight * (Absolute ? std::abs(off) : off * off);
  };
  for (u32 g = 0; g < G; ++g) {
    low[g] = low[g] > 0 ? 0 : low[g];
    flat[g] = low[g] == high[g];
    scale[g] = 1 / (top / (high[g] - low[g]));
    best[g] = 0;
  }
  for (u32 i = 0; i < N; ++i)
    for (u32 g = 0; g < G; ++g) {
      codes[i][g] = bounded(nearest(top / (high[g] - low[g]) * (x[i][g] - low[g])), 0, top);
      best[g] += error(codes[i][g], scale[g], low[g], x[i][g], w[i][g]);
    }
  for (u32 step = 0; step <= steps; ++step) {
    float per_unit[G], sum_l[G] = {}, sum_l2[G] = {}, sum_xl[G] = {}, s[G], l[G], now[G] = {};
    bool better[G];
    for (u32 g = 0; g < G; ++g) per_unit[g] = (from + 0.1f * static_cast<float>(step) + top) / (high[g] - low[g]);
    for (u32 i = 0; i < N; ++i)
      for (u32 g = 0; g < G; ++g) {
        const float code = bounded(nearest(per_unit[g] * (x[i][g] - low[g])), 0, top), weighted = w[i][g] * code;
        trial[i][g] = code;
        sum_l[g] += weighted;
        sum_l2[g] += weighted * code;
        sum_xl[g] += weighted * x[i][g];
      }
    for (u32 g = 0; g < G; ++g) {
      const float det = sum_w[g] * sum_l2[g] - sum_l[g] * sum_l[g];
      const float free = (sum_l2[g] * sum_x[g] - sum_l[g] * sum_xl[g]) / det;
      better[g] = det > 0;
      l[g] = free > 0 ? 0 : free;
      s[g] = free > 0 ? sum_xl[g] / sum_l2[g] : (sum_w[g] * sum_xl[g] - sum_x[g] * sum_l[g]) / det;
    }
    for (u32 i = 0; i < N; ++i)
      for (u32 g = 0; g < G; ++g) now[g] += error(trial[i][g], s[g], l[g], x[i][g], w[i][g]);
    for (u32 g = 0; g < G; ++g) {
      better[g] = better[g] && now[g] < best[g];
      best[g] = better[g] ? now[g] : best[g];
      scale[g] = better[g] ? s[g] : scale[g];
      low[g] = better[g] ? l[g] : low[g];
    }
    for (u32 i = 0; i < N; ++i)
      for (u32 g = 0; g < G; ++g) codes[i][g] = better[g] ? trial[i][g] : codes[i][g];
  }
  for (u32 g = 0; g < G; ++g) {
    least[g] = -low[g];
    scale[g] = flat[g] ? 0 : scale[g];
    for (u32 i = 0; i < N && flat[g]; ++i) codes[i][g] = 0;
  }
}

// The number of each group that is farthest from 0, with its sign; 0 if the group counts as zero.
template <u32 N, u32 G> void farthest(const side_by_side<N, G>& x, float (&most)[G]) {
  for (u32 g = 0; g < G; ++g) most[g] = 0;
  for (u32 i = 0; i < N; ++i)
    for (u32 g = 0; g < G; ++g) most[g] = std::abs(x[i][g]) > std::abs(most[g]) ? x[i][g] : most[g];
  for (u32 g = 0; g < G; ++g) most[g] = std::abs(most[g]) < nothing ? 0 : most[g];
}

// Fits x ~ scale * code, codes -half to half - 1, errors weighted by x * x, with 19 guesses of the farthest number's
// code around -half. Codes come with `half` added, and as 0 in a group of zeros.
template <u32 N, u32 G>
void fit_symmetric(const side_by_side<N, G>& x, float half, float (&scale)[G], side_by_side<N, G>& codes) {
  float most[G], best[G];
  side_by_side<N, G> trial;
  farthest(x, most);
  const auto attempt = [&](float end, auto&& take) {
    float per_unit[G], sum_xl[G] = {}, sum_l2[G] = {};
    for (u32 g = 0; g < G; ++g) per_unit[g] = -end / most[g];
    for (u32 i = 0; i < N; ++i)
      for (u32 g = 0; g < G; ++g) {
        const float code = bounded(nearest(per_unit[g] * x[i][g]), -half, half - 1), w = x[i][g] * x[i][g];
        trial[i][g] = code + half;
        sum_xl[g] += w * x[i][g] * code;
        sum_l2[g] += w * code * code;
      }
    bool better[G];
    for (u32 g = 0; g < G; ++g) {
      better[g] = take(sum_xl[g], sum_l2[g], best[g]);
      scale[g] = better[g] ? (sum_l2[g] != 0 ? sum_xl[g] / sum_l2[g] : 0) : scale[g];
      best[g] = better[g] ? scale[g] * sum_xl[g] : best[g];
    }
    for (u32 i = 0; i < N; ++i)
      for (u32 g = 0; g < G; ++g) codes[i][g] = better[g] ? trial[i][g] : codes[i][g];
  };
  for (u32 g = 0; g < G; ++g) scale[g] = best[g] = 0;
  attempt(half, [](float, float, float) { return true; });
  for (int tenths = -9; tenths <= 9; ++tenths)
    if (tenths != 0)
      attempt(half + 0.1f * static_cast<float>(tenths),
              [](float xl, float l2, float so_far) { return l2 > 0 && xl * xl > so_far * l2; });
  for (u32 g = 0; g < G; ++g) {
    if (most[g] != 0) continue;
    scale[g] = 0;
    for (u32 i = 0; i < N; ++i) codes[i][g] = 0;
  }
}

// The same for few codes: starts from the first guess, then moves each code where that reduces the error, in five
// rounds.
template <u32 N, u32 G>
void fit_by_code(const side_by_side<N, G>& x, float half, float (&scale)[G], side_by_side<N, G>& codes) {
  float most[G], sum_xl[G] = {}, sum_l2[G] = {};
  farthest(x, most);
  for (u32 i = 0; i < N; ++i)
    for (u32 g = 0; g < G; ++g) {
      const float code = bounded(nearest(-half / most[g] * x[i][g]), -half, half - 1), w = x[i][g] * x[i][g];
      codes[i][g] = code;
      sum_xl[g] += w * x[i][g] * code;
      sum_l2[g] += w * code * code;
    }
  for (u32 round = 0; round < 5; ++round)
    for (u32 i = 0; i < N; ++i)
      for (u32 g = 0; g < G; ++g) {
        const float v = x[i][g], w = v * v, old = codes[i][g];
        float xl = sum_xl[g] - w * v * old, l2 = sum_l2[g] - w * old * old;
        if (!(xl > 0)) continue;
        const float code = bounded(nearest(v * l2 / xl), -half, half - 1);
        xl += w * v * code;
        l2 += w * code * code;
        if (code == old || !(l2 > 0 && xl * xl * sum_l2[g] > sum_xl[g] * sum_xl[g] * l2)) continue;
        codes[i][g] = code, sum_xl[g] = xl, sum_l2[g] = l2;
      }
  for (u32 g = 0; g < G; ++g) {
    scale[g] = most[g] != 0 && sum_l2[g] > 0 ? sum_xl[g] / sum_l2[g] : 0;
    for (u32 i = 0; i < N; ++i) codes[i][g] = most[g] != 0 ? codes[i][g] + half : 0;
  }
}

}  // namespace cke::kernels

// SPDX-License-Identifier: MIT
// routing.hpp: which experts a token chooses, and their weights.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "../core/exp.hpp"
#include "../core/params.hpp"

namespace cke::kernels {

// Orders numbers by size, equal ones by index: the greatest key is the first of the greatest numbers. A NaN is
// greatest, as in torch.topk, which leaves the order of equals open. No key is 0.
constexpr u64 ranking_key(float x, u32 index) {
  const u32 bits = std::bit_cast<u32>(x + 0.f);  // -0 equals 0
  const u32 ascending = x != x ? ~0u : bits >> 31 ? ~bits : bits | 0x80000000u;
  return u64{ascending} << 32 | u32{~index};
}
// Removes the greatest of n keys and returns its index.
constexpr u32 take_greatest(u64* keys, u32 n) {
  u32 best = 0;
  for (u32 i = 1; i < n; ++i) best = keys[i] > keys[best] ? i : best;
  keys[best] = 0;
  return best;
}

// A few hundred numbers for each token: plain loops, with the same bits on every isa.
struct routing {
  // Bytes of scratch that token() uses.
  static constexpr u64 scratch_bytes(const router& r) { return u64{r.experts} * (2 * sizeof(u64) + sizeof(float)); }

  // logits, bias, expert_scale: [experts]; chosen: [active] numbers of experts, best first, then [active] weights
  static void token(const router& r, const float* logits, const float* bias, const float* expert_scale,
                    std::byte* scratch, float* chosen) {
    u64* const keys = reinterpret_cast<u64*>(scratch);                                           // [experts]
    float* const scores = reinterpret_cast<float*>(scratch + u64{2} * r.experts * sizeof(u64));  // [experts]
    score(r, logits, scores);
    for (u32 e = 0; e < r.experts; ++e) keys[e] = ranking_key(r.bias ? scores[e] + bias[e] : scores[e], e);
    if (r.groups_kept < r.groups) leave_best_groups(r, scores, bias, keys, keys + r.experts);
    float* const weights = chosen + r.active;
    for (u32 k = 0; k < r.active; ++k) {
      const u32 e = take_greatest(keys, r.experts);
      chosen[k] = static_cast<float>(e), weights[k] = scores[e];
    }
    if (r.score == scoring::softmax_of_chosen) softmax(weights, r.active, weights);
    if (r.renormalise) {
      float sum = r.floor;
      for (u32 k = 0; k < r.active; ++k) sum += weights[k];
      for (u32 k = 0; k < r.active; ++k) weights[k] /= sum;
    }
    for (u32 k = 0; k < r.active; ++k) weights[k] *= r.scale;
    for (u32 k = 0; k < r.active && r.expert_scale; ++k) weights[k] *= expert_scale[static_cast<u32>(chosen[k])];
  }

 private:
  static void score(const router& r, const float* logits, float* scores) {
    switch (r.score) {
      case scoring::softmax: return softmax(logits, r.experts, scores);
      case scoring::sigmoid:
        for (u32 e = 0; e < r.experts; ++e) scores[e] = 1 / (1 + rounded_exp(-logits[e]));
        return;
      case scoring::softmax_of_chosen: std::copy_n(logits, r.experts, scores);
    }
  }
  static void softmax(const float* x, u32 n, float* out) {
    const float most = *std::max_element(x, x + n);
    float sum = 0;
    for (u32 i = 0; i < n; ++i) sum += out[i] = rounded_exp(x[i] - most);
    for (u32 i = 0; i < n; ++i) out[i] /= sum;
  }
  // Removes the experts of other groups.
  static void leave_best_groups(const router& r, const float* scores, const float* bias, u64* keys, u64* groups) {
    const u32 size = r.experts / r.groups;
    for (u32 g = 0; g < r.groups; ++g) {
      float best = -INFINITY, second = -INFINITY;
      for (u32 e = g * size; e < (g + 1) * size; ++e) {
        const float x = r.bias ? scores[e] + bias[e] : scores[e];
        second = std::max(second, std::min(best, x)), best = std::max(best, x);
      }
      groups[g] = ranking_key(r.group_by == group_score::best ? best : best + second, g);
    }
    for (u32 k = 0; k < r.groups_kept; ++k) take_greatest(groups, r.groups);
    for (u32 g = 0; g < r.groups; ++g)
      if (groups[g] != 0) std::fill_n(keys + g * size, size, u64{0});
  }
};

}  // namespace cke::kernels

// SPDX-License-Identifier: MIT
// balance.hpp: a router's load-balance loss over one sequence, and its gradient (DeepSeek-V3, equations 17 to 20).
#pragma once

#include "rule_rows.hpp"

namespace cke::train {

// A sequence's rows of a router: its logits [experts], what it chose [active ids, weights], and gradients of the
// logits.
struct routed_rows {
  view logits, chosen, dlogits;
  u32 first, tokens;
};

// The sum over experts of experts / active times the share of tokens that chose it, times its mean probability: 1 where
// all have the same. Adds `by` times the gradient, through the probabilities alone. room: [2][experts].
inline double balance_loss(const router& r, const routed_rows& rows, float by, float* room) {
  float *const load = room, *const score = room + r.experts;
  const float each = static_cast<float>(r.experts) / static_cast<float>(u64{r.active} * rows.tokens);
  std::fill_n(load, r.experts, 0.f);
  for (u32 t = rows.first; t < rows.first + rows.tokens; ++t)
    for (u32 k = 0; k < r.active; ++k) load[static_cast<u32>(rows.chosen.row(t)[k])] += each;

  const bool sigmoids = r.score == scoring::sigmoid;
  const float share = by / static_cast<float>(rows.tokens);
  double loss = 0;
  for (u32 t = rows.first; t < rows.first + rows.tokens; ++t) {
    const float* const x = rows.logits.row(t);
    const float most = *std::max_element(x, x + r.experts);
    for (u32 e = 0; e < r.experts; ++e) score[e] = sigmoids ? sigmoid(x[e]) : std::exp(x[e] - most);
    const float sum = sum_of(r.experts, [&](u64 e) { return score[e]; }),
                mean = sum_of(r.experts, [&](u64 e) { return score[e] * load[e]; }) / sum;
    loss += static_cast<double>(mean);
    for (u32 e = 0; e < r.experts; ++e)
      rows.dlogits.row(t)[e] += share * score[e] / sum * (load[e] - mean) * (sigmoids ? 1 - score[e] : 1);
  }
  return loss / rows.tokens;
}

}  // namespace cke::train

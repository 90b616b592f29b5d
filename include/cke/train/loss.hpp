// SPDX-License-Identifier: MIT
// loss.hpp: softmax cross-entropy of rows of logits, and its gradient.
#pragma once

#include <cmath>

#include "rule_rows.hpp"

namespace cke::train {

inline constexpr u32 no_target = ~0u;

struct loss_options {
  float label_smoothing = 0;  // share of each target that is spread over all ids, as torch.nn.CrossEntropyLoss has it
  float z_loss = 0;           // times the square of log sum exp, which keeps logits near 0 (PaLM, section 5)
  float balance_loss = 0;  // times that of each router and sequence, see balance.hpp; a sequence counts by its targets
};

// The loss of a row; turns its logits into their gradient times `by`.
template <class Isa> double row_loss(float* x, u32 vocab, u32 target, const loss_options& o, float by) {
  using m = pointwise_math<Isa>;
  const float most = greatest_of(x, vocab), at_target = x[target];
  const float mean =
      o.label_smoothing > 0 ? sum_of(vocab, [&](u64 i) { return x[i]; }) / static_cast<float>(vocab) : 0.f;
  for (u32 i = 0; i < vocab; ++i) x[i] -= most;
  m::each(vocab, [&](u32 i, u32 k) { m::put(m::exp(m::get(x + i, k)), x + i, k); });
  double sum = 0;
  for (u32 i = 0; i < vocab; i += 256) sum += sum_of(std::min(256u, vocab - i), [&](u64 k) { return x[i + k]; });
  const double log_sum = std::log(sum) + most;
  const float inverse = static_cast<float>(1 / sum), slope = 1 + 2 * o.z_loss * static_cast<float>(log_sum),
              spread = o.label_smoothing / static_cast<float>(vocab);
  for (u32 i = 0; i < vocab; ++i) x[i] = (x[i] * inverse * slope - spread) * by;
  x[target] -= (1 - o.label_smoothing) * by;
  return log_sum - (1 - o.label_smoothing) * at_target - o.label_smoothing * mean + o.z_loss * log_sum * log_sum;
}

}  // namespace cke::train

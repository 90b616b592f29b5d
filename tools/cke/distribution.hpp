// SPDX-License-Identifier: MIT
// distribution.hpp: probabilities from logits, and how far one distribution is from another.
#pragma once

#include <cmath>
#include <vector>

#include <cke/text/sampling/logprobs.hpp>

#include "rooms.hpp"

namespace cke::tool {

class distribution {
 public:
  // Throws config_range as greedy_token does.
  void set(std::span<const float> logits) {
    best_ = greedy_token(logits);
    top_ = static_cast<double>(logits[best_]);
    weights_.resize(logits.size());
    sum_ = 0;
    for (std::size_t i = 0; i < logits.size(); ++i)
      sum_ += weights_[i] = std::exp(static_cast<double>(logits[i]) - top_);
  }
  u32 best() const { return best_; }
  double p(std::size_t id) const { return weights_[id] / sum_; }
  double log_p(float logit) const { return static_cast<double>(logit) - top_ - std::log(sum_); }

 private:
  u32 best_ = 0;
  double top_ = 0, sum_ = 0;
  std::vector<double> weights_;
};

// The sum of p (log p - log q), at least 0.
inline double divergence(const distribution& p, std::span<const float> logits_of_p, const distribution& q,
                         std::span<const float> logits_of_q) {
  double sum = 0;
  for (std::size_t i = 0; i < logits_of_p.size(); ++i)
    if (p.p(i) > 0) sum += p.p(i) * (p.log_p(logits_of_p[i]) - q.log_p(logits_of_q[i]));
  return std::max(sum, 0.0);
}

}  // namespace cke::tool

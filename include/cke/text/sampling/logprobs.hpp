// SPDX-License-Identifier: MIT
// logprobs.hpp: the most probable token and log-probabilities, computed from the logits.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "../../core/concat.hpp"
#include "../../core/error.hpp"

CKE_COLD_BEGIN
namespace cke::text {

// The lowest id of the highest logit. Throws errc::config_range for NaN, +inf, or if all are -inf.
inline u32 greedy_token(std::span<const float> logits) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  float highest = -infinity;
  std::size_t best = logits.size();
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (logits[id] <= highest) continue;  // also false for NaN, so one predictable branch covers both
    if (!(logits[id] < infinity)) {
      throw Error(errc::config_range, "", concat({"logit of token ", u64{id}}), "a finite number or -inf",
                  std::isnan(logits[id]) ? "nan" : "inf");
    }
    highest = logits[id];
    best = id;
  }
  if (best == logits.size()) { throw Error(errc::config_range, "", "logits", "at least one above -inf", "none"); }
  return static_cast<u32>(best);
}

struct token_logprob {
  u32 id;
  float logprob;  // natural logarithm
};

// log p(chosen) under the full softmax of the logits, before any sampling settings. Fills `top` with the most probable
// tokens, best first, ties to the lowest id. Does not allocate. Throws errc::config_range as greedy_token does,
// errc::token_range for `chosen`, errc::usage if `top` is too long.
inline float log_probabilities(std::span<const float> logits, u32 chosen, std::span<token_logprob> top) {
  const u32 best = greedy_token(logits);
  if (chosen >= logits.size()) {
    throw Error(errc::token_range, "", "token", concat({"an id below ", u64{logits.size()}}), concat({chosen}));
  }
  if (top.size() > logits.size()) {
    throw Error(errc::usage, "", "top log-probabilities", concat({"at most ", u64{logits.size()}}),
                concat({u64{top.size()}}));
  }
  const double highest = static_cast<double>(logits[best]);
  double sum = 0;
  for (const float logit : logits) sum += static_cast<double>(std::exp(logit - logits[best]));
  const auto logprob = [highest, log_sum = std::log(sum)](float logit) {
    return static_cast<float>(static_cast<double>(logit) - highest - log_sum);
  };

  // Until it is full, `top` is a heap with the lowest logit in front.
  const auto better = [](const token_logprob& a, const token_logprob& b) {
    return a.logprob > b.logprob || (a.logprob == b.logprob && a.id < b.id);
  };
  std::size_t filled = 0;
  for (u32 id = 0; id < logits.size() && !top.empty(); ++id) {
    if (filled < top.size()) {
      top[filled++] = {id, logits[id]};
      if (filled == top.size()) std::make_heap(top.begin(), top.end(), better);
    } else if (logits[id] > top.front().logprob) {
      std::pop_heap(top.begin(), top.end(), better);
      top.back() = {id, logits[id]};
      std::push_heap(top.begin(), top.end(), better);
    }
  }
  std::sort_heap(top.begin(), top.end(), better);
  for (auto& t : top) t.logprob = logprob(t.logprob);
  return logprob(logits[chosen]);
}

}  // namespace cke::text
CKE_COLD_END

// SPDX-License-Identifier: MIT
// least_length.hpp: keeps an answer from ending before it has a number of tokens.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "../../core/plain_list.hpp"
#include "../../core/types.hpp"

CKE_COLD_BEGIN
namespace cke::text {

// Until an answer has `least` tokens, the ids that end it get the logit -inf, as with transformers' min_new_tokens. The
// other tokens keep their logits, so p becomes p / (1 - the probability of the ends). Memory is taken at construction.
class least_length {
 public:
  least_length(u32 vocab_size, u32 least, const std::vector<u32>& ends) : least_(least), ends_(ends) {
    std::erase_if(ends_, [=](u32 id) { return id >= vocab_size; });
    if (least_ > 0 && !ends_.empty()) open_.resize(vocab_size);
  }

  // The logits [vocab_size] for the token after `count` of the answer; valid until the next call. They are unchanged
  // where nothing but an end is left, as at the end of a grammar.
  std::span<const float> only(std::span<const float> logits, u32 count) {
    if (count >= least_ || logits.size() != open_.size()) return logits;
    constexpr float banned = -std::numeric_limits<float>::infinity();
    std::ranges::copy(logits, open_.begin());
    for (const u32 id : ends_) open_[id] = banned;
    const bool some = std::ranges::any_of(open_, [](float x) { return x != banned; });
    return some ? std::span<const float>(open_) : logits;
  }

 private:
  u32 least_;
  std::vector<u32> ends_;
  plain_list<float> open_;  // [vocab_size], empty where nothing is banned
};

}  // namespace cke::text
CKE_COLD_END

// SPDX-License-Identifier: MIT
// choice.hpp: the next token of an answer, of those that its filter leaves.
#pragma once

#include "sampler.hpp"
#include "token_filter.hpp"

CKE_COLD_BEGIN
namespace cke::text {

struct choice {
  u32 id;
  bool hurried;  // the filter would not have come to its end in time behind the one that was drawn first
};

// `filter`: null where any token may come. `left`: how many more the answer has room for behind this one.
inline choice choose(sampler& from, token_filter* filter, std::span<const float> logits, std::span<const u32> history, u32 left) {
  const u32 id = from.sample(filter ? filter->only(logits) : logits, history, history.size());
  if (!filter || filter->in_time(id, left)) return {id, false};
  const std::span<const float> rest = filter->only_in_time(logits, left);
  if (rest.empty()) return {id, false};
  return {from.sample(rest, history, history.size()), true};
}

}  // namespace cke::text
CKE_COLD_END

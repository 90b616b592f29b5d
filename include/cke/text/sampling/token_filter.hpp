// SPDX-License-Identifier: MIT
// token_filter.hpp: what decides, step by step, which tokens an answer may go on with.
#pragma once

#include <span>

#include "../../core/types.hpp"

namespace cke::text {

// Belongs to one answer.
class token_filter {
 public:
  virtual ~token_filter() = default;
  // The logits, with -inf for what may not come next; valid until the next call.
  virtual std::span<const float> only(std::span<const float> logits) = 0;
  // Whether its end is still within reach when this one of them is chosen, and then `left` tokens more.
  virtual bool in_time(u32 /*id*/, u32 /*left*/) { return true; }
  // As only(), but with -inf for what is not in time; empty where nothing is.
  virtual std::span<const float> only_in_time(std::span<const float> /*logits*/, u32 /*left*/) { return {}; }
  // The token that was chosen of them; not called for one that ends the answer.
  virtual void accept(u32 id) = 0;
  // Nothing may come any more.
  virtual bool complete() const = 0;
};

}  // namespace cke::text

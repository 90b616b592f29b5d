// SPDX-License-Identifier: MIT
// token_filter.hpp: the interface that restricts, step by step, which tokens may continue an answer.
#pragma once

#include <span>

#include "../../core/types.hpp"

namespace cke::text {

// Holds the state of one answer.
class token_filter {
 public:
  virtual ~token_filter() = default;
  // Returns the logits, with -inf for tokens that may not come next; valid until the next call.
  virtual std::span<const float> only(std::span<const float> logits) = 0;
  // Whether the answer can still be completed if `id` is chosen and then `left` more tokens.
  virtual bool in_time(u32 /*id*/, u32 /*left*/) { return true; }
  // As only(), with -inf also for tokens that are not in time; empty if there are none.
  virtual std::span<const float> only_in_time(std::span<const float> /*logits*/, u32 /*left*/) { return {}; }
  // Reports the token that was chosen; not called for one that ends the answer.
  virtual void accept(u32 id) = 0;
  // Whether nothing may follow.
  virtual bool complete() const = 0;
};

}  // namespace cke::text

// SPDX-License-Identifier: MIT
// token_filter.hpp: what decides, step by step, which tokens an answer may go on with.
#pragma once

#include <span>

#include "../core/types.hpp"

namespace cke {

// Belongs to one answer.
class token_filter {
 public:
  virtual ~token_filter() = default;
  // The logits, with -inf for what may not come next; valid until the next call.
  virtual std::span<const float> only(std::span<const float> logits) = 0;
  // The token that was chosen of them; not called for one that ends the answer.
  virtual void accept(u32 id) = 0;
  // Nothing may come any more.
  virtual bool complete() const = 0;
};

}  // namespace cke

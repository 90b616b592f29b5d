// SPDX-License-Identifier: MIT
// guesses.hpp: what a slot's answer is guessed to go on with, by what its text repeats or by a smaller model.
#pragma once

#include <optional>

#include "../draft.hpp"
#include "../engine.hpp"

namespace cke::serve {

// What is guessed has no influence on an answer, only on how soon it comes.
class guesses {
 public:
  static constexpr u32 most_at_once = 64;

  // `smaller`: with the same vocabulary, and a context as long; null: the text alone. A step feeds it at most `chunk`
  // ids of the text, so that others do not wait for long.
  guesses(const engine* smaller, u32 chunk) : chunk_(chunk) {
    if (smaller) smaller_ = smaller->open(), by_model_.emplace(*smaller_, most_at_once);
  }

  // At most `most` ids, valid until the next call. Where the smaller model fails there are none.
  std::span<const u32> propose(std::span<const u32> history, u32 most) {
    if (!smaller_) return ngram_draft(most_at_once).propose(history, most);
    try {
      const auto known = static_cast<std::size_t>(std::ranges::mismatch(smaller_->history(), history).in2 - history.begin());
      if (history.size() - known <= chunk_) return by_model_->propose(history, most);
      smaller_->rewind(static_cast<u32>(known));
      smaller_->feed(history.subspan(known, chunk_));
    } catch (const std::exception&) {
      forget();
    }
    return {};
  }
  void forget() {
    if (smaller_) smaller_->rewind(0);
  }

 private:
  std::unique_ptr<conversation> smaller_;
  std::optional<model_draft<conversation>> by_model_;
  u32 chunk_;
};

}  // namespace cke::serve

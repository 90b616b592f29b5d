// SPDX-License-Identifier: MIT
// grammar_filter.hpp: an answer that is a text of a grammar, token by token.
#pragma once

#include <limits>

#include "../token_filter.hpp"
#include "token_grammar.hpp"

CKE_COLD_BEGIN
namespace cke {

// Thoughts come before the text that the grammar is of.
struct free_thought {
  u32 open = no_token, close = no_token;  // ids; none: the model has no thoughts
  bool inside = false;                    // the prompt ends within one
};

class grammar_filter final : public token_filter {
 public:
  // An end of the text is one of `ends`, which are allowed where the text is whole.
  grammar_filter(std::shared_ptr<token_grammar> of, const tokenizer& tokens, std::vector<u32> ends, free_thought thought = {})
      : of_(std::move(of)), tokens_(tokens), ends_(std::move(ends)), thought_(thought), state_(of_->start()) {}

  // Throws Error{unsupported} where no token of the vocabulary goes on.
  std::span<const float> only(std::span<const float> logits) override {
    if (thought_.inside) return logits;
    constexpr float never = -std::numeric_limits<float>::infinity();
    left_.assign(logits.size(), never);
    const std::span<const u64> mask = of_->allowed(state_);
    bool any = false;
    for (std::size_t word = 0; word < mask.size(); ++word) {
      any |= mask[word] != 0;
      for (u64 bits = mask[word]; bits != 0; bits &= bits - 1) allow(logits, static_cast<u32>(word * 64 + static_cast<u32>(__builtin_ctzll(bits))));
    }
    if (of_->accepts(state_))
      for (const u32 id : ends_) any |= allow(logits, id);
    if (may_think()) any |= allow(logits, thought_.open);
    if (!any) throw Error(errc::unsupported, {}, "grammar", "a token of the vocabulary that goes on", "none");
    return left_;
  }
  void accept(u32 id) override {
    if (thought_.inside) {
      thought_.inside = id != thought_.close;
      thought_.open = no_token;  // one is enough
    } else if (may_think() && id == thought_.open) {
      thought_.inside = true;
    } else {
      begun_ = true;
      state_ = of_->next(state_, tokens_.piece(id));
      if (!of_->full()) return;
      of_ = std::make_shared<token_grammar>(*of_, state_);
      state_ = of_->start();
    }
  }
  bool complete() const override { return !thought_.inside && of_->complete(state_); }

 private:
  bool may_think() const { return !begun_ && thought_.open != no_token; }
  bool allow(std::span<const float> logits, u32 id) {
    if (id >= logits.size()) return false;
    left_[id] = logits[id];
    return true;
  }

  std::shared_ptr<token_grammar> of_;
  const tokenizer& tokens_;
  const std::vector<u32> ends_;
  free_thought thought_;
  token_grammar::state state_;
  bool begun_ = false;
  std::vector<float> left_;
};

}  // namespace cke
CKE_COLD_END

// SPDX-License-Identifier: MIT
// grammar_filter.hpp: a token filter that keeps an answer within a grammar.
#pragma once

#include <limits>

#include "../sampling/token_filter.hpp"
#include "token_grammar.hpp"

CKE_COLD_BEGIN
namespace cke::text {

// Where in an answer the grammar applies, by token ids.
struct grammar_place {
  u32 think = no_token, end_think = no_token;  // of a thought that may precede the text; no_token: none
  bool in_thought = false;                     // the prompt ends within a thought
  u32 mark = no_token;  // the grammar applies after this token only; no_token: to the whole answer
  bool once = false;    // the answer ends with the text after the first mark
};

class grammar_filter final : public token_filter {
 public:
  // When the text is complete, the answer may end with one of `ends`.
  grammar_filter(std::shared_ptr<token_grammar> of, const tokenizer& tokens, std::vector<u32> ends,
                 grammar_place place = {})
      : whole_(of),
        of_(std::move(of)),
        tokens_(tokens),
        ends_(std::move(ends)),
        place_(place),
        state_(of_->start()),
        now_(place.mark != no_token ? part::free
                 : place.in_thought ? part::thought
                                    : part::beginning) {}

  // Throws Error{unsupported} if no token of the vocabulary can continue the text.
  std::span<const float> only(std::span<const float> logits) override {
    if (now_ == part::free) return logits;
    if (now_ == part::thought) return without(logits, ends_);  // the text has yet to come
    if (!allow(logits, of_->allowed(state_), place_.think))
      throw Error(errc::unsupported, {}, "grammar", "a token of the vocabulary that goes on", "none");
    return left_;
  }
  // A required text must be completed within `left` tokens.
  bool in_time(u32 id, u32 left) override {
    if (is_end(id)) return true;
    if (now_ == part::free) return id != place_.mark || whole_->in_time(whole_->start(), left);
    if (now_ == part::thought) return thought_in_time(id == place_.end_think ? left + 1 : left);
    if (now_ == part::beginning && id == place_.think) return thought_in_time(left);
    return of_->in_time(state_, tokens_.piece(id), left);
  }
  std::span<const float> only_in_time(std::span<const float> logits, u32 left) override {
    if (now_ == part::free) return without(logits, {&place_.mark, 1});
    if (now_ == part::thought) {
      left_.assign(logits.size(), never);
      return thought_in_time(left + 1) && allow(logits, place_.end_think) ? left_ : std::span<const float>();
    }
    return allow(logits, of_->allowed_in_time(state_, left), thought_in_time(left) ? place_.think : no_token)
        ? left_
        : std::span<const float>();
  }
  void accept(u32 id) override {
    if (now_ == part::thought) {
      if (id == place_.end_think) now_ = part::text;
    } else if (now_ == part::free) {
      if (id == place_.mark) now_ = part::text, of_ = whole_, state_ = of_->start();
    } else if (now_ == part::beginning && id == place_.think) {
      now_ = part::thought;
    } else {
      now_ = part::text;
      read(tokens_.piece(id));
    }
  }
  bool complete() const override { return now_ == part::text && of_->complete(state_); }

 private:
  enum class part : u8 { beginning, thought, text, free };
  static constexpr float never = -std::numeric_limits<float>::infinity();

  void read(std::string_view bytes) {
    for (const char c : bytes) {
      state_ = of_->next(state_, {&c, 1});
      if (of_->full()) go_on_alone();
    }
    if (place_.mark != no_token && !place_.once && of_->complete(state_)) now_ = part::free;
  }
  // Leaves the full caches to other answers.
  void go_on_alone() {
    token_grammar::state here = state_;
    of_ = std::make_shared<token_grammar>(*of_, std::span(&here, 1));
    state_ = here;
  }
  bool is_end(u32 id) const { return std::ranges::find(ends_, id) != ends_.end(); }
  // Needs a token to end the thought, and then the text.
  bool thought_in_time(u32 left) { return left > 0 && whole_->in_time(whole_->start(), left - 1); }
  std::span<const float> without(std::span<const float> logits, std::span<const u32> ids) {
    left_.assign(logits.begin(), logits.end());
    for (const u32 id : ids)
      if (id < left_.size()) left_[id] = never;
    return left_;
  }
  // Keeps the logits of `mask` and of the other permitted tokens; returns false if there is none.
  bool allow(std::span<const float> logits, std::span<const u64> mask, u32 think) {
    left_.assign(logits.size(), never);
    bool any = false;
    for (std::size_t word = 0; word < mask.size(); ++word)
      for (u64 bits = mask[word]; bits != 0; bits &= bits - 1)
        any |= allow(logits, static_cast<u32>(word * 64) + static_cast<u32>(__builtin_ctzll(bits)));
    if (of_->accepts(state_))
      for (const u32 id : ends_) any |= allow(logits, id);
    if (now_ == part::beginning && think != no_token) any |= allow(logits, think);
    return any;
  }
  bool allow(std::span<const float> logits, u32 id) {
    if (id >= logits.size()) return false;
    left_[id] = logits[id];
    return true;
  }

  const std::shared_ptr<token_grammar> whole_;
  std::shared_ptr<token_grammar> of_;  // whole_, or the grammar of the rest, made when caches are full
  const tokenizer& tokens_;
  const std::vector<u32> ends_;
  const grammar_place place_;
  token_grammar::state state_;
  part now_;
  std::vector<float> left_;
};

}  // namespace cke::text
CKE_COLD_END

// SPDX-License-Identifier: MIT
// answer.hpp: one running answer: logits in, one token further, the text that is certain out.
#pragma once

#include <algorithm>
#include <optional>

#include "../text/sampling/choice.hpp"
#include "../text/tokenizer/detokenizer.hpp"
#include "../text/sampling/stop.hpp"
#include "job.hpp"

namespace cke::serve {

// What generation<> does, one step at a time, so that many answers can share a pass over the weights.
class answer {
 public:
  // `filter`: null where any token may come.
  answer(const order& what, const tokenizer& tokens, u32 vocab_size, std::unique_ptr<token_filter> filter)
      : what_(what), tokens_(tokens), filter_(std::move(filter)), sampler_(vocab_size, what.sample), stop_(what.stop_ids, what.stop),
        text_(tokens, {.beginning = false}) {}

  // The id that the logits behind `history` lead to. What became certain is in piece().
  void step(std::span<const float> logits, std::span<const u32> history) {
    piece_.text.clear(), piece_.tokens.clear();
    if (generated_ == what_.max_tokens) return finish(ending::length);
    const auto [id, hurried] = choose(sampler_, filter_.get(), logits, history, what_.max_tokens - generated_ - 1);
    hurried_ = hurried_ || hurried;
    if (stop_.stops_at(id)) return finish(ending::stop);
    if (filter_) filter_->accept(id);
    ++generated_;
    next_ = id;
    if (what_.ranked) logprob_ += static_cast<double>(log_probabilities(logits, id, {}));
    if (what_.logprobs) piece_.tokens.push_back(report(id, logits));
    const bool shown = std::ranges::binary_search(what_.shown, id);
    if (shown) feed(text_.finish());
    if (end_ == ending::running) feed(shown ? tokens_.piece(id) : text_.push(id));
    if (end_ == ending::running && filter_ && filter_->complete()) finish(ending::stop);
    if (end_ == ending::running && generated_ == what_.max_tokens) finish(ending::length);
  }

  // With its log-probability after `logits`, as the order wants it.
  token_report report(u32 id, std::span<const float> logits) const {
    token_report r{.id = id};
    r.top.resize(std::min<std::size_t>(what_.top_logprobs, logits.size()));
    r.logprob = log_probabilities(logits, id, r.top);
    return r;
  }

  u32 next() const { return next_; }  // to be fed before the next step
  u32 generated() const { return generated_; }
  double logprob() const { return logprob_; }
  ending end() const { return end_; }
  piece& last() { return piece_; }

 private:
  void feed(std::string_view text) {
    piece_.text += stop_.feed(text);
    if (stop_.stopped()) end_ = ending::stop;
  }
  void finish(ending why) {
    piece_.text += stop_.flush(text_.finish());
    end_ = stop_.stopped() ? ending::stop : hurried_ ? ending::length : why;
  }

  const order& what_;
  const tokenizer& tokens_;
  std::unique_ptr<token_filter> filter_;
  sampler sampler_;
  stop_matcher stop_;
  detokenizer text_;
  piece piece_;
  u32 next_ = 0, generated_ = 0;
  double logprob_ = 0;
  bool hurried_ = false;  // the answer would be another if it might be longer
  ending end_ = ending::running;
};

}  // namespace cke::serve

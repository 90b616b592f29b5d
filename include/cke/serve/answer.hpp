// SPDX-License-Identifier: MIT
// answer.hpp: a running answer of the server: an answer_stream with the reports that a request may ask for.
#pragma once

#include <algorithm>
#include <optional>

#include "../text/answer_stream.hpp"
#include "job.hpp"

namespace cke::serve {

// Steps when the scheduler has logits for it, so that many answers can share a pass over the weights.
class answer {
 public:
  // `filter`: null where any token may come.
  answer(const order& what, const tokenizer& tokens, u32 vocab_size, std::unique_ptr<token_filter> filter)
      : what_(what),
        filter_(std::move(filter)),
        stream_(vocab_size, what.sample, what.stop_ids, what.stop, filter_.get(), &tokens, what.min_tokens) {}

  // Chooses the id after `history`, whose logits these are. last() is then the text that became certain.
  void step(std::span<const float> logits, std::span<const u32> history) {
    piece_.text.clear(), piece_.tokens.clear();
    if (generated_ == what_.max_tokens) return finish(ending::length);
    const u32 id = stream_.choose(logits, history, what_.max_tokens - generated_ - 1);
    if (stream_.ends_at(id)) return finish(ending::stop);
    ++generated_;
    next_ = id;
    if (what_.ranked) logprob_ += static_cast<double>(log_probabilities(logits, id, {}));
    if (what_.logprobs) piece_.tokens.push_back(report(id, logits));
    if (std::ranges::binary_search(what_.shown, id))
      piece_.text += stream_.cut_character(), piece_.text += stream_.name_of(id);
    else piece_.text += stream_.text_of(id);
    if (stream_.stopped()) end_ = ending::stop;
    else if (stream_.complete()) finish(ending::stop);
    else if (generated_ == what_.max_tokens) finish(ending::length);
  }

  // An id with its log-probability after `logits`, and its best competitors if the order asks for them.
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
  void finish(ending why) {
    piece_.text += stream_.rest();
    end_ = stream_.stopped() ? ending::stop : stream_.hurried() ? ending::length : why;
  }

  const order& what_;
  std::unique_ptr<token_filter> filter_;
  answer_stream stream_;
  piece piece_;
  u32 next_ = 0, generated_ = 0;
  double logprob_ = 0;
  ending end_ = ending::running;
};

}  // namespace cke::serve

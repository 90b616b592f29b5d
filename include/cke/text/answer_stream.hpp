// SPDX-License-Identifier: MIT
// answer_stream.hpp: one answer, token by token: from logits to the next id, from ids to text that is certain.
#pragma once

#include "sampling/least_length.hpp"
#include "sampling/sampler.hpp"
#include "sampling/stop.hpp"
#include "sampling/token_filter.hpp"
#include "tokenizer/detokenizer.hpp"

CKE_COLD_BEGIN
namespace cke::text {

// What `generation` and the server's answers have in common. Every answer has its own, so that answers which share a
// pass share nothing else.
class answer_stream {
 public:
  // `tokens`: null for ids without text. `filter`: null where any token may come. Both outlive the stream. min_tokens:
  // stop ids may not come before; stop texts may.
  answer_stream(u32 vocab_size, const sampling& how, std::vector<u32> stop_ids, const std::vector<std::string>& stop,
                token_filter* filter, const tokenizer* tokens, u32 min_tokens = 0)
      : sampler_(vocab_size, how),
        least_(vocab_size, min_tokens, stop_ids),
        filter_(filter),
        tokens_(tokens),
        stop_(std::move(stop_ids), stop) {
    if (!tokens) return;
    text_ = detokenizer(*tokens, {.beginning = false});
    stop_.reserve(3 * (tokens->longest_piece() + 4));  // a byte that is not text becomes three
  }

  // The id after `history`, whose logits these are. `left`: how many more the answer has room for after this one. If
  // the filter could not come to its end in time after the id that is drawn first, another one is drawn.
  u32 choose(std::span<const float> logits, std::span<const u32> history, u32 left) {
    u32 id = sampler_.sample(least_.only(filter_ ? filter_->only(logits) : logits, chosen_), history, history.size());
    if (filter_ && !filter_->in_time(id, left))
      if (const std::span<const float> rest = filter_->only_in_time(logits, left); !rest.empty()) {
        id = sampler_.sample(least_.only(rest, chosen_), history, history.size());
        hurried_ = true;
      }
    ++chosen_;
    if (filter_ && !ends_at(id)) filter_->accept(id);
    return id;
  }

  bool ends_at(u32 id) const { return stop_.stops_at(id); }         // a stop id is not part of the answer
  bool complete() const { return filter_ && filter_->complete(); }  // nothing may follow what was chosen
  bool hurried() const { return hurried_; }                         // with more room the answer would be another
  bool stopped() const { return stop_.stopped().has_value(); }      // by a stop string

  // The text that becomes certain with an id; valid until the next call of these three.
  std::string_view text_of(u32 id) { return tokens_ ? stop_.feed(text_.push(id)) : std::string_view(); }
  // Bytes of a character that the ids so far leave incomplete, as U+FFFD.
  std::string_view cut_character() { return stop_.feed(text_.finish()); }
  // The name of a special token, as text of the answer. cut_character() first.
  std::string_view name_of(u32 id) { return stop_.feed(tokens_->piece(id)); }
  // At the end of the answer: what was held back, as it might have become part of a character or of a stop string.
  std::string_view rest() { return tokens_ ? stop_.flush(text_.finish()) : std::string_view(); }

 private:
  sampler sampler_;
  least_length least_;
  token_filter* filter_;
  const tokenizer* tokens_;
  stop_matcher stop_;
  detokenizer text_;
  u32 chosen_ = 0;
  bool hurried_ = false;
};

}  // namespace cke::text
CKE_COLD_END

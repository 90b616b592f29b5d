// SPDX-License-Identifier: MIT
// generate.hpp: the loop that turns logits into text: filter, sample, stop, detokenize, decode.
#pragma once

#include <atomic>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "text/sampling/choice.hpp"
#include "text/tokenizer/detokenizer.hpp"
#include "text/sampling/stop.hpp"

CKE_COLD_BEGIN
namespace cke {

// What a program names of texts.
using text::detokenizer, text::sampler, text::sampling, text::stop_matcher, text::token_bias, text::token_filter, text::tokenizer;

// What an answer that the context has no room for ends with; sliding: it goes on, see sequence::slide.
enum class overflow : u8 { error, stop, sliding };

struct generate_options {
  u32 max_tokens = 256;
  sampling sample{};               // default: greedy
  std::vector<std::string> stop{}; // texts that end the answer; they are not part of it
  cke::overflow overflow = cke::overflow::error;  // stop: with finish::length
  bool ignore_stop_ids = false;    // go on after the model's own end tokens
  const std::atomic<bool>* cancel = nullptr;  // looked at before each token
  token_filter* filter = nullptr;  // which tokens may come; outlives the generation, and serves no other
};

// length: at max_tokens, or where a filter had to come to its end before them.
enum class finish : u8 { running, stop, length, cancelled };

// Every id is computed by itself.
struct no_draft {};

// An input range of pieces of text, each valid until the next one is asked for. A session without a
// tokenizer yields empty pieces, one a token; ids() has them all. Nothing is allocated after begin().
// With a Draft of draft.hpp several ids are computed in one pass where they are guessed right: the same
// answer, and the same session behind it; one that is left before its end may hold some ids more.
template <class Session, class Draft = no_draft> class generation {
 public:
  // Runs the prompt. Throws what Session::feed, Session::slide and sampler throw; usage for an empty prompt at the start.
  generation(Session& session, std::span<const u32> prompt, generate_options options, Draft draft = {})
      : session_(&session), options_(std::move(options)), draft_(std::move(draft)),
        sampler_(static_cast<u32>(session.logits().size()), options_.sample),
        stop_(options_.ignore_stop_ids ? std::vector<u32>{} : std::vector<u32>(session.stop_ids().begin(), session.stop_ids().end()), options_.stop) {
    if (prompt.empty() && session.position() == 0)
      throw Error(errc::usage, {}, "prompt", "at least one token", "none");
    if (const tokenizer* tokens = session.tokens_or_null()) {
      text_ = detokenizer(*tokens, {.beginning = false});
      stop_.reserve(3 * (tokens->longest_piece() + 4));  // a byte that is no text becomes three
    }
    if (options_.overflow == overflow::sliding) session.slide();
    const u32 most = session.context() - session.position() + 1;  // the last one need not be fed
    if (options_.overflow == overflow::stop) {
      const u32 room = prompt.size() < most ? most - static_cast<u32>(prompt.size()) : 0;
      options_.max_tokens = room < options_.max_tokens ? room : options_.max_tokens;
    }
    ids_.reserve(options_.max_tokens < most ? options_.max_tokens : most);
    if constexpr (drafts) batch_.reserve(std::min<std::size_t>(session.context(), session.position() + prompt.size() + options_.max_tokens)), chosen_.reserve(ids_.capacity());
    if (!prompt.empty()) session.feed(prompt);
  }

  class iterator {
   public:
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    explicit iterator(generation* of) : of_(of) {}
    std::string_view operator*() const { return of_->piece_; }
    iterator& operator++() {
      of_->advance();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return of_->done_; }

   private:
    generation* of_;
  };
  iterator begin() {
    advance();
    return iterator(this);
  }
  std::default_sentinel_t end() const { return {}; }

  std::span<const u32> ids() const { return ids_; }   // new ids so far, without the one that stopped
  cke::finish finish() const { return finish_; }
  std::optional<u32> stop_id() const { return stop_id_; }  // the stop id that the model chose, if one ended the answer

 private:
  static constexpr bool drafts = !std::is_same_v<Draft, no_draft>;

  bool has_text() const { return session_->tokens_or_null() != nullptr; }

  void advance() {
    piece_ = {};
    while (finish_ == finish::running) {
      if (step() && (!has_text() || !piece_.empty())) return;
    }
    if constexpr (drafts) settle();
    if (!flushed_ && has_text()) {
      flushed_ = true;
      piece_ = finish_ == finish::stop && stop_.stopped() ? std::string_view{} : stop_.flush(text_.finish());
      if (!piece_.empty()) return;
    }
    done_ = true;
  }

  // One token; true when it belongs to the answer.
  bool step() {
    if (options_.cancel && options_.cancel->load(std::memory_order_relaxed)) return end(finish::cancelled);
    if (ids_.size() == options_.max_tokens) return end(finish::length);
    const u32 id = next();
    if (stop_.stops_at(id)) {
      stop_id_ = id;
      return end(whole());
    }
    ids_.push_back(id);
    pending_ = id;
    if (options_.filter && options_.filter->complete() && taken_ == chosen_.size()) finish_ = whole();
    if (!has_text()) return true;
    piece_ = stop_.feed(text_.push(id));
    if (stop_.stopped()) finish_ = finish::stop;
    return true;
  }
  u32 next() {
    if constexpr (drafts) {
      if (taken_ == chosen_.size()) choose_some();
      return chosen_[taken_++];
    } else {
      if (pending_) session_->feed(*pending_);
      return choose(session_->logits(), session_->history());
    }
  }
  // The id after `history`, whose logits these are.
  u32 choose(std::span<const float> logits, std::span<const u32> history) {
    const std::size_t before = ids_.size() + chosen_.size();
    const auto [id, hurried] = text::choose(sampler_, options_.filter, logits, history, static_cast<u32>(options_.max_tokens - before - 1));
    hurried_ = hurried_ || hurried;
    if (options_.filter && !stop_.stops_at(id)) options_.filter->accept(id);
    return id;
  }
  // The next id, and those behind it as far as the draft has them right.
  void choose_some() {
    chosen_.clear(), taken_ = 0;
    if (!pending_) return chosen_.push_back(choose(session_->logits(), session_->history()));
    const u32 start = session_->position();
    batch_.assign(session_->history().begin(), session_->history().end());
    batch_.push_back(*pending_);
    // Neither more than may be answered, nor than there is room for.
    const std::size_t most = std::min<std::size_t>(options_.max_tokens - ids_.size(), session_->context() - start);
    if (most > 1) {
      const std::span<const u32> guess = draft_.propose(batch_, static_cast<u32>(most - 1));
      batch_.insert(batch_.end(), guess.begin(), guess.end());
    }
    bool right = true;
    session_->feed_all(std::span(batch_).subspan(start), [&](u32 i, std::span<const float> logits) {
      if (!right) return;
      const std::size_t here = start + i + 1;
      chosen_.push_back(choose(logits, std::span(batch_).first(here)));
      right = here < batch_.size() && chosen_.back() == batch_[here] && !stop_.stops_at(chosen_.back()) && !(options_.filter && options_.filter->complete());
    });
    if (const auto kept = static_cast<u32>(start + chosen_.size()); kept < session_->position()) session_->rewind(kept), stale_ = true;
    else stale_ = false;
  }
  // The session as it is without a draft: what was computed and not taken is forgotten, and logits() are
  // those behind its last id.
  void settle() {
    const auto rest = static_cast<u32>(chosen_.size() - taken_);
    if (rest == 0 && !stale_) return;
    const u32 last = session_->position() - rest - 1;
    session_->rewind(last);
    session_->feed(batch_[last]);
    chosen_.resize(taken_), stale_ = false;
  }
  cke::finish whole() const { return hurried_ ? finish::length : finish::stop; }
  bool end(cke::finish why) {
    finish_ = why;
    return false;
  }

  Session* session_;
  generate_options options_;
  [[no_unique_address]] Draft draft_;
  sampler sampler_;
  stop_matcher stop_;
  detokenizer text_;            // where there is a tokenizer
  std::vector<u32> ids_;
  std::vector<u32> batch_;      // with a draft: the history, and what is guessed to follow
  std::vector<u32> chosen_;     // with a draft: ids in order, of which the first taken_ are in the answer
  std::size_t taken_ = 0;
  bool stale_ = false;          // the session's logits are not those behind its last id
  bool hurried_ = false;        // the answer would be another if it might be longer
  std::optional<u32> pending_;  // sampled, not yet fed
  std::optional<u32> stop_id_;
  std::string_view piece_;
  cke::finish finish_ = finish::running;
  bool flushed_ = false, done_ = false;
};

}  // namespace cke
CKE_COLD_END

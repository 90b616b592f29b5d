// SPDX-License-Identifier: MIT
// generate.hpp: the loop that generates text: feed, choose a token, detokenize, stop.
#pragma once

#include <atomic>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "text/answer_stream.hpp"

CKE_COLD_BEGIN
namespace cke {

// What a program names of texts.
using text::detokenizer, text::sampler, text::sampling, text::stop_matcher, text::token_bias, text::token_filter,
    text::tokenizer;

// What happens at the end of the context. stop: the answer ends with finish::length; sliding: it goes on, see
// sequence::slide.
enum class overflow : u8 { error, stop, sliding };

struct generate_options {
  u32 max_tokens = 256;
  u32 min_tokens = 0;               // the model's own end tokens may not come before; max_tokens and stop texts may
  sampling sample{};                // default: greedy
  std::vector<std::string> stop{};  // texts that end the answer; they are not part of it
  cke::overflow overflow = cke::overflow::error;
  bool ignore_stop_ids = false;               // go on after the model's own end tokens
  const std::atomic<bool>* cancel = nullptr;  // read before each token
  token_filter* filter = nullptr;             // which tokens may come; outlives the generation, and is used by no other
};

// length: at max_tokens, or the filter had to come to its end in fewer tokens than it would have taken.
enum class finish : u8 { running, stop, length, cancelled };

// One id a pass.
struct no_draft {};

// An input range of pieces of text, each valid until the next one is asked for. A session without a tokenizer yields
// empty pieces, one a token; ids() has them all. Nothing is allocated after begin(). With a Draft of draft.hpp a pass
// computes several ids where they are guessed right. The answer is the same, and so is the session after it; if the
// iteration is left before its end, the session may hold a few ids more.
template <class Session, class Draft = no_draft> class generation {
 public:
  // Runs the prompt. Throws what Session::feed, Session::slide and sampler throw; usage for an empty prompt at the
  // start.
  generation(Session& session, std::span<const u32> prompt, generate_options options, Draft draft = {})
      : session_(&session),
        options_(std::move(options)),
        draft_(std::move(draft)),
        stream_(static_cast<u32>(session.logits().size()), options_.sample,
                options_.ignore_stop_ids ? std::vector<u32>{}
                                         : std::vector<u32>(session.stop_ids().begin(), session.stop_ids().end()),
                options_.stop, options_.filter, session.tokens_or_null(), options_.min_tokens) {
    if (prompt.empty() && session.position() == 0) throw Error(errc::usage, {}, "prompt", "at least one token", "none");
    if (options_.overflow == overflow::sliding) session.slide();
    const u32 most = session.context() - session.position() + 1;  // the last id need not be fed
    if (options_.overflow == overflow::stop) {
      const u32 room = prompt.size() < most ? most - static_cast<u32>(prompt.size()) : 0;
      options_.max_tokens = room < options_.max_tokens ? room : options_.max_tokens;
    }
    ids_.reserve(options_.max_tokens < most ? options_.max_tokens : most);
    if constexpr (drafts) {
      batch_.reserve(
          std::min<std::size_t>(session.context(), session.position() + prompt.size() + options_.max_tokens));
      chosen_.reserve(ids_.capacity());
    }
    session.feed(prompt);  // no ids too: a rewind may have left logits to be computed
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

  std::span<const u32> ids() const { return ids_; }  // new ids so far, without the stop id
  cke::finish finish() const { return finish_; }
  std::optional<u32> stop_id() const { return stop_id_; }  // the stop id, if one ended the answer

 private:
  static constexpr bool drafts = !std::is_same_v<Draft, no_draft>;

  bool has_text() const { return session_->tokens_or_null() != nullptr; }

  void advance() {
    piece_ = {};
    while (finish_ == finish::running)
      if (step() && (!has_text() || !piece_.empty())) return;
    if constexpr (drafts) settle();
    if (!flushed_) {
      flushed_ = true;
      piece_ = stream_.rest();
      if (!piece_.empty()) return;
    }
    done_ = true;
  }

  // One token; true when it belongs to the answer.
  bool step() {
    if (options_.cancel && options_.cancel->load(std::memory_order_relaxed)) return end(finish::cancelled);
    if (ids_.size() == options_.max_tokens) return end(finish::length);
    const u32 id = next();
    if (stream_.ends_at(id)) {
      stop_id_ = id;
      return end(whole());
    }
    ids_.push_back(id);
    pending_ = id;
    if (stream_.complete() && taken_ == chosen_.size()) finish_ = whole();
    piece_ = stream_.text_of(id);
    if (stream_.stopped()) finish_ = finish::stop;
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
    return stream_.choose(logits, history, static_cast<u32>(options_.max_tokens - before - 1));
  }
  // The next id, and those after it as far as the draft has them right.
  void choose_some() {
    chosen_.clear(), taken_ = 0;
    if (!pending_) return chosen_.push_back(choose(session_->logits(), session_->history()));
    const u32 start = session_->position();
    batch_.assign(session_->history().begin(), session_->history().end());
    batch_.push_back(*pending_);
    // No more than the answer may have, and than the context has room for.
    const std::size_t most = std::min<std::size_t>(options_.max_tokens - ids_.size(), session_->context() - start);
    if (most > 1) {
      const std::span<const u32> guess = draft_.propose(batch_, static_cast<u32>(most - 1));
      // An id without a logit, such as a row of an image, is never chosen.
      const auto end = std::ranges::find_if(guess, [&](u32 id) { return id >= session_->logits().size(); });
      // One by one: a guess may be a part of batch_, which has room for all.
      for (const u32 id : std::span(guess.begin(), end)) batch_.push_back(id);
    }
    bool right = true;
    session_->feed_all(std::span(batch_).subspan(start), [&](u32 i, std::span<const float> logits) {
      if (!right) return;
      const std::size_t here = start + i + 1;
      chosen_.push_back(choose(logits, std::span(batch_).first(here)));
      right = here < batch_.size() && chosen_.back() == batch_[here] && !stream_.ends_at(chosen_.back()) &&
          !stream_.complete();
    });
    const auto kept = static_cast<u32>(start + chosen_.size());
    stale_ = kept < session_->position();
    if (stale_) session_->rewind(kept);
  }
  // Leaves the session as it is without a draft: ids that were computed and not taken are forgotten, and logits() are
  // those after the last one.
  void settle() {
    const auto rest = static_cast<u32>(chosen_.size() - taken_);
    if (rest == 0 && !stale_) return;
    const u32 last = session_->position() - rest - 1;
    session_->rewind(last);
    session_->feed(batch_[last]);
    chosen_.resize(taken_), stale_ = false;
  }
  cke::finish whole() const { return stream_.hurried() ? finish::length : finish::stop; }
  bool end(cke::finish why) {
    finish_ = why;
    return false;
  }

  Session* session_;
  generate_options options_;
  [[no_unique_address]] Draft draft_;
  text::answer_stream stream_;
  std::vector<u32> ids_;
  std::vector<u32> batch_;   // with a draft: the history, and the guesses after it
  std::vector<u32> chosen_;  // with a draft: ids in order, of which the first taken_ are in the answer
  std::size_t taken_ = 0;
  bool stale_ = false;          // the session's logits are not those after its last id
  std::optional<u32> pending_;  // sampled, not yet fed
  std::optional<u32> stop_id_;
  std::string_view piece_;
  cke::finish finish_ = finish::running;
  bool flushed_ = false, done_ = false;
};

}  // namespace cke
CKE_COLD_END

// SPDX-License-Identifier: MIT
// generate.hpp: the loop that turns logits into text: filter, sample, stop, detokenize, decode.
#pragma once

#include <atomic>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "text/detokenizer.hpp"
#include "text/sampler.hpp"
#include "text/stop.hpp"
#include "text/token_filter.hpp"

CKE_COLD_BEGIN
namespace cke {

struct generate_options {
  u32 max_tokens = 256;
  sampling sample{};               // default: greedy
  std::vector<std::string> stop{}; // texts that end the answer; they are not part of it
  bool ignore_stop_ids = false;    // go on after the model's own end tokens
  const std::atomic<bool>* cancel = nullptr;  // looked at before each token
  token_filter* filter = nullptr;  // which tokens may come; outlives the generation, and serves no other
};

enum class finish : u8 { running, stop, length, cancelled };

// An input range of pieces of text, each valid until the next one is asked for. A session without a
// tokenizer yields empty pieces, one a token; ids() has them all. Nothing is allocated after begin().
template <class Session> class generation {
 public:
  // Runs the prompt. Throws what Session::feed and sampler throw; usage for an empty prompt at the start.
  generation(Session& session, std::span<const u32> prompt, generate_options options)
      : session_(&session), options_(std::move(options)),
        sampler_(static_cast<u32>(session.logits().size()), options_.sample),
        stop_(options_.ignore_stop_ids ? std::vector<u32>{} : std::vector<u32>(session.stop_ids().begin(), session.stop_ids().end()), options_.stop) {
    if (prompt.empty() && session.position() == 0)
      throw Error(errc::usage, {}, "prompt", "at least one token", "none");
    if (const tokenizer* tokens = session.tokens_or_null()) {
      text_.emplace(*tokens, detokenizer_options{.beginning = false});
      stop_.reserve(3 * (tokens->longest_piece() + 4));  // a byte that is no text becomes three
    }
    const u32 most = session.context() - session.position() + 1;  // the last one need not be fed
    ids_.reserve(options_.max_tokens < most ? options_.max_tokens : most);
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
  void advance() {
    piece_ = {};
    while (finish_ == finish::running) {
      if (step() && (!text_ || !piece_.empty())) return;
    }
    if (!flushed_ && text_) {
      flushed_ = true;
      piece_ = finish_ == finish::stop && stop_.stopped() ? std::string_view{} : stop_.flush(text_->finish());
      if (!piece_.empty()) return;
    }
    done_ = true;
  }

  // One token; true when it belongs to the answer.
  bool step() {
    if (options_.cancel && options_.cancel->load(std::memory_order_relaxed)) return end(finish::cancelled);
    if (ids_.size() == options_.max_tokens) return end(finish::length);
    if (pending_) session_->feed(*pending_);
    const auto logits = options_.filter ? options_.filter->only(session_->logits()) : session_->logits();
    const u32 id = sampler_.sample(logits, session_->history(), session_->position());
    if (stop_.stops_at(id)) {
      stop_id_ = id;
      return end(finish::stop);
    }
    if (options_.filter) options_.filter->accept(id);
    ids_.push_back(id);
    pending_ = id;
    if (options_.filter && options_.filter->complete()) finish_ = finish::stop;
    if (!text_) return true;
    piece_ = stop_.feed(text_->push(id));
    if (stop_.stopped()) finish_ = finish::stop;
    return true;
  }
  bool end(cke::finish why) {
    finish_ = why;
    return false;
  }

  Session* session_;
  generate_options options_;
  sampler sampler_;
  stop_matcher stop_;
  std::optional<detokenizer> text_;
  std::vector<u32> ids_;
  std::optional<u32> pending_;  // sampled, not yet fed
  std::optional<u32> stop_id_;
  std::string_view piece_;
  cke::finish finish_ = finish::running;
  bool flushed_ = false, done_ = false;
};

}  // namespace cke
CKE_COLD_END

// SPDX-License-Identifier: MIT
// job.hpp: one answer to be generated, and the mailbox that it arrives in.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../any_model.hpp"
#include "../text/grammar/grammar_filter.hpp"
#include "../text/pooling.hpp"
#include "../text/sampling/sampler.hpp"

namespace cke::serve {

using clock = std::chrono::steady_clock;

// The form of an answer.
struct wanted_grammar {
  std::shared_ptr<const std::string> text{};  // GBNF, once for all answers of a request
  std::shared_ptr<const grammar> of{};        // the same, parsed; null: any text
  grammar_place place{};
  std::vector<u32> marks{};  // special tokens that count as text in it, sorted
};

// What to generate. The sampler is seeded by the order alone, so that neighbours in a pass cannot shift its numbers.
struct order {
  std::vector<u32> prompt;                // at least one id, at most the context
  std::vector<std::vector<u32>> texts{};  // instead of a prompt: texts to embed, one after the other
  embed_options embed{};
  sampling sample{};
  u32 max_tokens = 0;
  u32 min_tokens = 0;  // stop_ids may not come before
  std::vector<u32> stop_ids{};
  std::vector<std::string> stop{};
  std::vector<u32> shown{};  // special tokens whose text is part of the answer, sorted
  wanted_grammar form{};
  bool logprobs = false;
  u32 top_logprobs = 0;
  bool ranked = false;               // the log-probability of the whole answer is needed
  bool prompt_logprobs = false;      // also of the prompt's tokens, which come with the first piece
  u32 owner = 0;                     // the API key; cached prompts are shared within one key only
  std::vector<held_image> images{};  // of the prompt, until a session has them

  bool embeds() const { return !texts.empty(); }
  std::size_t tokens() const {
    std::size_t all = prompt.size();
    for (const auto& text : texts) all += text.size();
    return all;
  }
};

struct token_report {
  u32 id;
  float logprob = 0;
  bool known = true;  // false: the first token of a prompt, before which there is nothing
  std::vector<token_logprob> top{};
};

enum class ending : u8 { running, stop, length, cancelled, failed };

// Text that became certain, and the tokens since the last piece.
struct piece {
  std::string text;
  std::vector<token_report> tokens{};  // if log-probabilities are asked for
  std::vector<float> embedding{};      // of the next text of the order
  std::size_t of_prompt = 0;           // the first so many tokens, which are the prompt's
};

struct token_counts {
  u32 prompt = 0, cached = 0, generated = 0;
  double logprob = 0;  // of the generated tokens, if the order is ranked
};

// What has arrived: pieces in order, and the ending if there is one.
struct delivery {
  std::vector<piece> pieces;
  ending end = ending::running;
  std::string error{};  // failed: why
  token_counts counts{};
};

// The model's thread puts, a connection takes. put() and close() call `wake` if the box was empty.
class mailbox {
 public:
  mailbox(std::size_t most_bytes, std::function<void()> wake) : most_(most_bytes), wake_(std::move(wake)) {}

  // False: more than `most_bytes` wait to be taken. Reports of the prompt do not count: they come all at once, and the
  // request bounds them.
  bool put(piece p, const token_counts& counts) {
    return deliver([&] {
      bytes_ += p.text.size();
      for (const token_report& t : std::span(p.tokens).subspan(p.of_prompt))
        bytes_ += sizeof t + t.top.size() * sizeof(token_logprob);
      now_.pieces.push_back(std::move(p));
      now_.counts = counts;
    });
  }
  void close(ending end, const token_counts& counts, std::string error = {}) {
    deliver([&] {
      if (now_.end != ending::running) return;
      now_.end = end, now_.error = std::move(error), now_.counts = counts;
    });
  }
  delivery take() {
    const std::lock_guard turn(mutex_);
    asleep_ = true, bytes_ = 0;
    delivery taken = std::move(now_);
    now_ = {{}, taken.end, taken.error, taken.counts};
    return taken;
  }

 private:
  template <class F> bool deliver(F f) {
    bool was_asleep, fits;
    {
      const std::lock_guard turn(mutex_);
      f();
      was_asleep = std::exchange(asleep_, false), fits = bytes_ <= most_;
    }
    if (was_asleep) wake_();
    return fits;
  }

  const std::size_t most_;
  const std::function<void()> wake_;
  std::mutex mutex_;
  delivery now_;
  std::size_t bytes_ = 0;
  bool asleep_ = true;
};

// When a job got a slot and its first token; {}: never.
struct request_times {
  clock::time_point begun{}, first_token{};
};

struct job {
  job(order wanted, std::size_t most_unread, std::function<void()> wake)
      : what(std::move(wanted)), box(most_unread, std::move(wake)) {}

  const order what;
  mailbox box;
  std::atomic<bool> cancelled = false;  // read before each step
  const clock::time_point asked = clock::now();
};

}  // namespace cke::serve

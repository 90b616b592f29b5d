// SPDX-License-Identifier: MIT
// slot.hpp: a conversation that serves one job after the other, and keeps what the next may share.
#pragma once

#include <span>

#include "../engine.hpp"
#include "answer.hpp"

namespace cke::serve {

// How many ids the two begin with in common.
inline u32 common_prefix(std::span<const u32> a, std::span<const u32> b) {
  return static_cast<u32>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// Belongs to the model's thread.
class slot {
 public:
  explicit slot(std::unique_ptr<conversation> c) : conversation_(std::move(c)) {}

  bool free() const { return !job_; }
  bool in_prompt() const { return job_ && fed_ < job_->what.prompt.size(); }
  bool decoding() const { return job_ && !in_prompt(); }
  const job* what() const { return job_.get(); }
  conversation& cache() { return *conversation_; }
  u64 last_used() const { return last_used_; }
  token_counts counts() const { return job_ ? token_counts{fed_, cached_, answer_->generated()} : token_counts{}; }

  // The ids of this prompt that need not be fed again. A key's prompts are nobody else's business, not even by their timing.
  u32 reusable(const order& o) const {
    if (o.prompt_logprobs || o.owner != owner_) return 0;
    const auto most = static_cast<u32>(o.prompt.size() - 1);  // the last id's logits are wanted
    return std::min(most, common_prefix(conversation_->history(), o.prompt));
  }
  // `filter`: of this job. `shared`: whose other conversations' caches may be used too, or null. Throws what sampler throws; the slot is then free.
  void begin(std::shared_ptr<job> j, const tokenizer& tokens, u32 vocab_size, u64 now, const engine* shared, std::unique_ptr<token_filter> filter) {
    u32 kept = reusable(j->what);
    if (shared && !j->what.prompt_logprobs && j->what.prompt.size() > kept + 1) {
      auto fresh = shared->open();
      if (const u32 found = fresh->recall(j->what.prompt); found > kept) conversation_ = std::move(fresh), kept = found;
    }
    conversation_->rewind(kept);
    owner_ = j->what.owner, last_used_ = now;
    answer_.emplace(j->what, tokens, vocab_size, std::move(filter));
    job_ = std::move(j);
    fed_ = cached_ = kept;
    if (job_->what.prompt_logprobs) pending_.tokens.push_back({.id = job_->what.prompt[0], .known = false});
  }
  // The job is over, whatever the reason; what was fed stays for prompts that begin with it.
  void end(ending why, std::string error = {}) {
    job_->box.close(why, counts(), std::move(error));
    if (why == ending::failed) conversation_->rewind(0);
    answer_.reset(), job_.reset(), pending_ = {};
  }

  // The ids that a pass takes next: a part of the prompt, or the id that was chosen last.
  std::span<const u32> wanted(u32 most) {
    if (!in_prompt()) return next_ = answer_->next(), std::span(&next_, 1);
    const std::span<const u32> rest = std::span(job_->what.prompt).subspan(fed_);
    return rest.first(std::min<std::size_t>(rest.size(), most));
  }
  // The same ids by themselves, where each one's log-probability is wanted.
  void feed_with_logprobs(std::span<const u32> ids) {
    const auto& prompt = job_->what.prompt;
    conversation_->feed_all(ids, [&](u32 i, std::span<const float> row) {
      if (const std::size_t next = fed_ + i + 1; next < prompt.size())
        pending_.tokens.push_back(answer_->report(prompt[next], row));
    });
  }
  // After `count` ids were fed. True: a token was chosen, and what became certain was delivered.
  bool fed(u32 count) {
    if (in_prompt()) {
      fed_ += count;
      if (in_prompt()) return false;
    }
    answer_->step(conversation_->logits(), conversation_->history());
    piece p = std::move(answer_->last());
    if (!pending_.tokens.empty()) {
      pending_.tokens.insert(pending_.tokens.end(), p.tokens.begin(), p.tokens.end());
      p.tokens = std::move(pending_.tokens);
    }
    if (!p.text.empty() || !p.tokens.empty())
      if (!job_->box.put(std::move(p), counts())) job_->cancelled = true;
    return true;
  }
  ending progress() const { return answer_->end(); }

  clock::time_point last_token{};

 private:
  std::unique_ptr<conversation> conversation_;
  std::shared_ptr<job> job_;
  std::optional<answer> answer_;
  piece pending_;                // reports of the prompt, for the first piece
  u32 fed_ = 0, cached_ = 0;     // of the prompt
  u32 next_ = 0, owner_ = 0;
  u64 last_used_ = 0;
};

}  // namespace cke::serve

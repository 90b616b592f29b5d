// SPDX-License-Identifier: MIT
// slot.hpp: a conversation that serves one job after the other, and keeps its cache for prompts with the same prefix.
#pragma once

#include <span>

#include "answer.hpp"
#include "guesses.hpp"

namespace cke::serve {

// The length of the common prefix.
inline u32 common_prefix(std::span<const u32> a, std::span<const u32> b) {
  return static_cast<u32>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// Goes back to `position`, or farther, to where the states are: a rewind alone leaves the ids after that to be computed
// all at once. Returns the position.
inline u32 go_back(any_session& s, u32 position) { return s.rewind(s.rewind(position)); }

// Belongs to the model's thread.
class slot {
 public:
  // `smaller`: a conversation of the model that guesses; null: ngram_draft.
  explicit slot(std::unique_ptr<any_session> c, std::unique_ptr<any_session> smaller = nullptr)
      : conversation_(std::move(c)), smaller_(std::move(smaller)) {
    if (smaller_) draft_.emplace(*smaller_, wish::most_at_once);
  }

  bool free() const { return !job_; }
  bool in_prompt() const { return job_ && fed_ < prompt().size(); }
  bool decoding() const { return job_ && !in_prompt(); }
  const job* what() const { return job_.get(); }
  any_session& cache() { return *conversation_; }
  u64 last_used() const { return last_used_; }
  token_counts counts() const {
    return job_
        ? token_counts{before_ + fed_, cached_, answer_ ? answer_->generated() : 0, answer_ ? answer_->logprob() : 0}
        : token_counts{};
  }

  // The ids of this prompt that need not be fed again, if their states are still there: begin() finds out. Caches are
  // not shared across API keys: timing would disclose prompts.
  u32 reusable(const order& o) const {
    if (o.prompt_logprobs || o.embeds() || o.owner != owner_) return 0;
    const auto most = static_cast<u32>(o.prompt.size() - 1);  // the logits after the last id are needed
    return std::min(most, common_prefix(conversation_->history(), o.prompt));
  }
  // `filter`: of this job. `share`: the prefix cache of all conversations may be used. Throws what sampler throws; the
  // slot is then free.
  void begin(std::shared_ptr<job> j, const tokenizer& tokens, const any_model& model, bool share, u64 now,
             std::unique_ptr<token_filter> filter) {
    u32 kept = go_back(*conversation_, reusable(j->what));
    if (share && !j->what.prompt_logprobs && j->what.prompt.size() > kept + 1) {
      auto fresh = model.open();
      if (conversation_->context() > model.context()) fresh->slide();
      if (const u32 found = fresh->recall(j->what.prompt); found > kept) conversation_ = std::move(fresh), kept = found;
    }
    if (smaller_) go_back(*smaller_, owner_ == j->what.owner ? common_prefix(smaller_->history(), j->what.prompt) : 0);
    owner_ = j->what.owner, last_used_ = now;
    text_ = before_ = 0;
    if (j->what.embeds()) pooled_.emplace(j->what.embed, static_cast<u32>(j->what.texts[0].size()), dim_ = model.dim());
    else answer_.emplace(j->what, tokens, model.vocab_size(), std::move(filter));
    job_ = std::move(j);
    fed_ = cached_ = kept;
    if (job_->what.prompt_logprobs) pending_.tokens.push_back({.id = job_->what.prompt[0], .known = false});
  }
  // Ends the job for any reason. What was fed stays for prompts with the same prefix.
  void end(ending why, std::string error = {}) {
    job_->box.close(why, counts(), std::move(error));
    if (why == ending::failed) conversation_->rewind(0);
    answer_.reset(), pooled_.reset(), job_.reset(), pending_ = {};
  }

  // The ids that a pass takes next: a part of the prompt (wanted), or the id that was chosen last and the guesses after
  // it (guessed), at most as many as the answer has room for. Valid until the next call. An image that fits into
  // `chunk` ids is not divided, since its rows may have to see each other: a part that would end in one ends before it,
  // or takes all of it, although that is more than `most`, where `first`.
  std::span<const u32> wanted(u32 most, u32 chunk = 0, bool first = false) const {
    const std::span<const u32> rest = prompt().subspan(fed_);
    std::size_t count = std::min<std::size_t>(rest.size(), most);
    if (count == rest.size() || count == 0) return rest.first(count);
    for (const held_image& h : job_->what.images) {
      const u32 before = rest[count] - h.first;  // rows of the image before the cut
      if (before == 0 || before >= h.rows || h.rows > chunk) continue;
      count = before < count ? count - before : first ? count + h.rows - before : 0;
      break;
    }
    return rest.first(count);
  }
  wish wishes(u32 most) {
    const std::span<const u32> history = conversation_->history();
    most = std::min({most, job_->what.max_tokens - answer_->generated() - 1,
                     conversation_->context() - conversation_->position() - 1});
    if (draft_ && !job_->what.images.empty()) most = 0;  // the smaller model does not have the images
    ahead_.reserve(history.size() + 1 + most);
    ahead_.clear();
    if (most > 0) ahead_.assign(history.begin(), history.end());
    ahead_.push_back(answer_->next());
    return {ahead_, most, draft_ ? &*draft_ : nullptr};
  }
  std::span<const u32> guessed(const wish& w) {
    const std::size_t start = ahead_.size() - 1;
    // An id without a logit, such as a row of an image, is never chosen.
    const auto end = std::ranges::find_if(w.ids, [&](u32 id) { return id >= conversation_->logits().size(); });
    ahead_.insert(ahead_.end(), w.ids.begin(), end);
    const auto ids = std::span<const u32>(ahead_).subspan(start);
    if (ids.size() > 1) rows_.resize(ids.size() * conversation_->logits().size());
    return ids;
  }
  // The turn that feeds them.
  turn taking(std::span<const u32> ids) {
    turn t{conversation_.get(), ids};
    if (pooled_) t.hidden = pooled_->sink();
    else if (decoding() && ids.size() > 1) t.each = {take_row, this};
    return t;
  }
  // Feeds them alone, in a job that asks for log-probabilities of the prompt.
  void feed_with_logprobs(std::span<const u32> ids) {
    const auto& prompt = job_->what.prompt;
    conversation_->feed_all(ids, [&](u32 i, std::span<const float> row) {
      if (const std::size_t next = fed_ + i + 1; next < prompt.size())
        pending_.tokens.push_back(answer_->report(prompt[next], row));
    });
  }
  // After `count` ids were fed: chooses tokens and delivers text that became certain. Returns the number of tokens.
  u32 fed(u32 count) {
    if (in_prompt()) {
      fed_ += count;
      if (in_prompt()) return 0;
      if (pooled_) return next_text(), 0;
      count = 1;  // logits after the last id only
    }
    // Accepts guesses as long as they are right; the rest is rewound.
    const std::span<const u32> history = conversation_->history();
    const u32 width = static_cast<u32>(conversation_->logits().size()), before = answer_->generated();
    for (std::size_t here = history.size() - count + 1;; ++here) {
      const bool last = here == history.size();
      answer_->step(last ? conversation_->logits()
                         : std::span<const float>(rows_).subspan((here + count - 1 - history.size()) * width, width),
                    history.first(here));
      deliver();
      if (last) break;
      if (answer_->end() == ending::running && answer_->next() == history[here]) continue;
      conversation_->rewind(static_cast<u32>(here));
      break;
    }
    return answer_->generated() - before;
  }
  ending progress() const {
    if (job_->what.embeds()) return pooled_ ? ending::running : ending::stop;
    return answer_->end();
  }

  clock::time_point last_token{};
  request_times times{};

 private:
  static void take_row(void* to, u32 index, const float* row) {
    slot& s = *static_cast<slot*>(to);
    const std::size_t width = s.conversation_->logits().size();
    std::copy_n(row, width, s.rows_.begin() + static_cast<std::ptrdiff_t>(index * width));
  }
  void deliver() {
    piece p = std::move(answer_->last());
    if (!pending_.tokens.empty()) {
      p.of_prompt = pending_.tokens.size();
      pending_.tokens.insert(pending_.tokens.end(), p.tokens.begin(), p.tokens.end());
      p.tokens = std::move(pending_.tokens);
    }
    if (!p.text.empty() || !p.tokens.empty())
      if (!job_->box.put(std::move(p), counts())) job_->cancelled = true;
  }
  std::span<const u32> prompt() const { return job_->what.embeds() ? job_->what.texts[text_] : job_->what.prompt; }
  // A text is complete: delivers its vector.
  void next_text() {
    if (!job_->box.put({.text = {}, .embedding = pooled_->embedding()}, counts())) job_->cancelled = true;
    pooled_.reset();
    if (text_ + 1 == job_->what.texts.size()) return;
    before_ += std::exchange(fed_, 0), ++text_;
    conversation_->rewind(0);
    pooled_.emplace(job_->what.embed, static_cast<u32>(prompt().size()), dim_);
  }

  std::unique_ptr<any_session> conversation_;
  std::unique_ptr<any_session> smaller_;
  std::optional<model_draft<any_session>> draft_;  // of smaller_
  std::vector<u32> ahead_;                         // the history, the id that was chosen last, and guesses
  std::vector<float> rows_;                        // logits after that id and each guess
  std::shared_ptr<job> job_;
  std::optional<answer> answer_;
  std::optional<pooled> pooled_;  // instead of an answer: the text that is embedded
  piece pending_;                 // reports of the prompt, for the first piece
  u32 fed_ = 0, cached_ = 0;      // of the prompt, or of a text
  u32 text_ = 0, before_ = 0;     // the current text; tokens of the texts before it
  u32 dim_ = 0;
  u32 owner_ = 0;
  u64 last_used_ = 0;
};

}  // namespace cke::serve

// SPDX-License-Identifier: MIT
// draft.hpp: guesses of the next ids, for a generation that checks several in one pass.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "text/sampling/logprobs.hpp"

CKE_COLD_BEGIN
namespace cke {

// A draft has propose(history, most): up to `most` ids that may follow, valid until the next call. What is
// proposed has no influence on an answer, only on how fast it comes.

// What followed the last ids where they stood before: for answers that repeat what a prompt says.
class ngram_draft {
 public:
  explicit ngram_draft(u32 most) : most_(most) {}

  std::span<const u32> propose(std::span<const u32> history, u32 most) const {
    std::size_t best = 0, length = least - 1;  // where what followed begins, and how long the match before it is
    for (std::size_t end = history.size(); end-- > least;) {
      std::size_t n = 0;
      while (n < longest && n < end && history[end - 1 - n] == history[history.size() - 1 - n]) ++n;
      if (n > length) best = end, length = n;
      if (n == longest) break;
    }
    if (best == 0) return {};
    return history.subspan(best).first(std::min<std::size_t>({most, most_, history.size() - best}));
  }

 private:
  static constexpr std::size_t least = 2, longest = 8;  // ids of a match
  u32 most_;
};

// What a smaller model with the same vocabulary finds likeliest. Session: a sequence of its own, or a
// conversation; it may be used for several generations, and keeps what their histories have in common.
template <class Session> class model_draft {
 public:
  model_draft(Session& session, u32 most) : session_(&session), most_(most) { ids_.reserve(most); }

  std::span<const u32> propose(std::span<const u32> history, u32 most) {
    const auto common = static_cast<u32>(std::ranges::mismatch(session_->history(), history).in2 - history.begin());
    const u32 kept = std::min(common, static_cast<u32>(history.size()) - 1);  // the last id's logits are wanted
    const std::span<const u32> news = history.subspan(kept);
    const std::size_t room = session_->context() > history.size() ? session_->context() - history.size() + 1 : 0;
    ids_.clear();
    if (room == 0) return ids_;
    session_->rewind(kept);
    session_->feed(news);
    for (const std::size_t n = std::min<std::size_t>({most, most_, room}); ids_.size() < n;) {
      if (!ids_.empty()) session_->feed(std::span(&ids_.back(), 1));
      ids_.push_back(text::greedy_token(session_->logits()));
    }
    return ids_;
  }

 private:
  Session* session_;
  u32 most_;
  std::vector<u32> ids_;
};

}  // namespace cke
CKE_COLD_END

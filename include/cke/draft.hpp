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

// A draft has propose(history, most): up to `most` ids that may follow, valid until the next call. Proposals change how
// fast an answer comes, never the answer.

// Ids that followed the same n-gram earlier in the history (prompt lookup): for answers that repeat what a prompt says.
class ngram_draft {
 public:
  explicit ngram_draft(u32 most) : most_(most) {}

  std::span<const u32> propose(std::span<const u32> history, u32 most) const {
    std::size_t best = 0, length = least - 1;  // where the proposal begins, and how long the match before it is
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

// The likeliest ids of a smaller model with the same vocabulary. Session: a sequence for this alone, or a conversation;
// it may be used for several generations, and keeps the prefix that their histories share.
template <class Session> class model_draft {
 public:
  model_draft(Session& session, u32 most) : session_(&session), most_(most) { ids_.reserve(most); }

  std::span<const u32> propose(std::span<const u32> history, u32 most) {
    for (std::span<const u32> ids = begin(history, most); !ids.empty(); ids = next()) session_->feed(ids);
    return ids_;
  }

  // The same step by step, for drafts whose sessions are fed together. begin() returns the ids to feed first, next()
  // the id to feed after those have been; none: guesses() are complete. begin() feeds at most `chunk` ids of the
  // history: if it has more that are new, there are no guesses this time, and the next call goes on from there.
  std::span<const u32> begin(std::span<const u32> history, u32 most, u32 chunk = ~0u) {
    ids_.clear();
    const auto common =
        static_cast<std::size_t>(std::ranges::mismatch(session_->history(), history).in2 - history.begin());
    const std::size_t kept = std::min(common, history.size() - 1);  // the logits after the last id are needed
    const std::span<const u32> news = history.subspan(kept).first(std::min<std::size_t>(history.size() - kept, chunk));
    const std::size_t room = session_->context() > history.size() ? session_->context() - history.size() + 1 : 0;
    wanted_ = kept + news.size() < history.size() ? 0 : std::min<std::size_t>({most, most_, room});
    if (news.empty() || room == 0) return {};
    session_->rewind(static_cast<u32>(kept));
    return news;
  }
  std::span<const u32> next() {
    if (ids_.size() < wanted_) ids_.push_back(text::greedy_token(session_->logits()));
    return ids_.size() < wanted_ ? std::span<const u32>(ids_).last(1) : std::span<const u32>();
  }
  std::span<const u32> guesses() const { return ids_; }
  Session& session() { return *session_; }

 private:
  Session* session_;
  u32 most_;
  std::size_t wanted_ = 0;  // guesses of this call
  std::vector<u32> ids_;
};

}  // namespace cke
CKE_COLD_END

// SPDX-License-Identifier: MIT
// guesses.hpp: what answers are guessed to go on with, by what their texts repeat or by a smaller model.
#pragma once

#include <algorithm>

#include "../draft.hpp"
#include "together.hpp"

namespace cke::serve {

// What is guessed has no influence on an answer, only on how soon it comes.
struct wish {
  static constexpr u32 most_at_once = 64;
  std::span<const u32> history;   // of an answer, with the id that was chosen last
  u32 most;                       // how many are wanted
  any_session* by = nullptr;     // of the smaller model, one for each answer; null: the text alone
  std::vector<u32> ids{};         // the guesses
};

inline void guess_by_text(wish& w) {
  if (w.most == 0) return;
  const auto found = ngram_draft(wish::most_at_once).propose(w.history, w.most);
  w.ids.assign(found.begin(), found.end());
}

// The likeliest ids by a smaller model with the same vocabulary, for all wishes in the same passes, as many as the longest wish
// wants. Of the texts at most `chunk` ids are fed to it in a step, so that no answer waits for long; who is not through has no
// guesses yet, and where the model fails there are none.
inline void guess_by_model(any_model& smaller, std::span<wish> wishes, u32 chunk) {
  std::vector<wish*> asked;
  std::vector<turn> turns;
  const auto take = [&](wish& w, std::span<const u32> ids) { asked.push_back(&w), turns.push_back({w.by, ids}); };
  for (wish& w : wishes) {
    if (w.most == 0) continue;
    const auto known = static_cast<std::size_t>(std::ranges::mismatch(w.by->history(), w.history).in2 - w.history.begin());
    const std::size_t kept = std::min(known, w.history.size() - 1);  // the last id's logits are wanted
    const std::span<const u32> news = w.history.subspan(kept).first(std::min<std::size_t>(w.history.size() - kept, chunk));
    const std::size_t room = w.by->context() > w.history.size() ? w.by->context() - w.history.size() + 1 : 0;
    w.most = kept + news.size() < w.history.size() ? 0 : static_cast<u32>(std::min<std::size_t>({w.most, room, wish::most_at_once}));
    if (news.empty() || room == 0) continue;
    chunk -= static_cast<u32>(news.size());
    w.by->rewind(static_cast<u32>(kept));
    w.ids.reserve(w.most);
    take(w, news);
  }
  while (!turns.empty()) {
    const std::vector<std::string> errors = feed_together(smaller, turns);
    const std::vector<wish*> fed = std::exchange(asked, {});
    turns.clear();
    for (std::size_t i = 0; i < fed.size(); ++i) {
      wish& w = *fed[i];
      const auto next = [&] { w.ids.push_back(greedy_token(w.by->logits())); };
      if (!errors[i].empty() || (w.most > 0 && !error_of(next).empty())) w.by->rewind(0);
      else if (w.ids.size() < w.most) take(w, std::span(w.ids).last(1));
    }
  }
}

}  // namespace cke::serve

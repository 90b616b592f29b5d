// SPDX-License-Identifier: MIT
// guesses.hpp: guesses of what running answers continue with, for all of them at once.
#pragma once

#include <utility>

#include "../draft.hpp"
#include "together.hpp"

namespace cke::serve {

// Guesses that an answer asks for. They change how soon it comes, never the answer.
struct wish {
  static constexpr u32 most_at_once = 64;
  std::span<const u32> history;            // of the answer, with the id that was chosen last
  u32 most;                                // guesses wanted
  model_draft<any_session>* by = nullptr;  // the answer's own draft; null: ngram_draft
  std::vector<u32> ids{};                  // the guesses
};

inline void guess_by_text(wish& w) {
  if (w.most == 0) return;
  const auto found = ngram_draft(wish::most_at_once).propose(w.history, w.most);
  w.ids.assign(found.begin(), found.end());
}

// All wishes are guessed in the same passes of the smaller model, as many passes as the longest wish wants ids.
// Together they feed it at most `chunk` ids of histories in a step, so that no answer waits for long: an answer whose
// history is not fed to its end has no guesses yet. If the smaller model fails for an answer, that one keeps the
// guesses so far.
inline void guess_by_model(any_model& smaller, std::span<wish> wishes, u32 chunk) {
  std::vector<wish*> asked;
  std::vector<turn> turns;
  const auto feed_next = [&](wish& w, std::span<const u32> ids) {
    if (!ids.empty()) asked.push_back(&w), turns.push_back({&w.by->session(), ids});
  };
  for (wish& w : wishes) {
    if (w.most == 0) continue;
    const std::span<const u32> ids = w.by->begin(w.history, w.most, chunk);
    chunk -= static_cast<u32>(ids.size());
    feed_next(w, ids);
  }
  while (!turns.empty()) {
    const std::vector<std::string> errors = feed_together(smaller, turns);
    const std::vector<wish*> fed = std::exchange(asked, {});
    turns.clear();
    for (std::size_t i = 0; i < fed.size(); ++i) {
      model_draft<any_session>& draft = *fed[i]->by;
      std::span<const u32> next;
      if (!errors[i].empty() || !error_of([&] { next = draft.next(); }).empty()) draft.session().rewind(0);
      else feed_next(*fed[i], next);
    }
  }
  for (wish& w : wishes)
    if (w.most > 0) w.ids.assign(w.by->guesses().begin(), w.by->guesses().end());
}

}  // namespace cke::serve

// SPDX-License-Identifier: MIT
// beam.hpp: beam search, with the results of transformers; all beams are fed in one pass.
#pragma once

#include <algorithm>
#include <cmath>

#include "model_adapter.hpp"
#include "text/sampling/logprobs.hpp"

namespace cke {

// When to stop while beams could go on (transformers' early_stopping):
//   unlikely  when the best beam scores no better at present than the worst of the ended answers (False)
//   enough    when as many answers have ended as there are beams (True)
//   hopeless  when no beam can still become better than the worst of the ended answers ("never")
enum class beam_end : u8 { unlikely, enough, hopeless };

struct beam_options {
  u32 beams = 4;    // transformers' num_beams
  u32 answers = 1;  // to return, the best first; at most as many as beams: num_return_sequences
  u32 max_tokens = 256;
  float length_penalty = 1;  // an answer's score: its log-probability over its length to this power
  beam_end end = beam_end::unlikely;
  std::vector<u32> stop_ids{};  // ids that end an answer
};

struct beam_answer {
  std::vector<u32> ids;  // with the stop id, if one ended it
  float score;
  bool stopped;  // by a stop id, not by its length
};

namespace detail {

// One search. Scores are f32, with transformers' order of sums and of ties, so that the ids are the same.
class beam_search {
 public:
  beam_search(any_model& model, const any_session& start, const beam_options& how)
      : model_(model),
        how_(how),
        room_(start.context() - start.position() + 1),  // the last id need not be fed
        width_(std::max<std::size_t>(2, 1 + how.stop_ids.size()) * how.beams) {
    const auto check = [](const char* name, u64 value, u64 most) {
      if (value < 1 || value > most)
        throw Error(errc::config_range, {}, name, "1 to " + std::to_string(most), std::to_string(value));
    };
    check("beams", how.beams, 256), check("answers", how.answers, how.beams),
        check("max_tokens", how.max_tokens, room_);
    ended_.resize(how.beams);
    for (u32 i = 0; i < how.beams; ++i) beams_.push_back({start.fork(), {}, i ? dead : 0});
  }

  std::vector<beam_answer> run() {
    for (u32 length = 1;; ++length) {
      const std::vector<candidate> best = continuations();
      finish(best, length);
      if (length == how_.max_tokens || !goes_on(best, length)) break;
      extend(best);
    }
    std::vector<beam_answer> out;
    for (ended& e : ended_)
      if (e.done && out.size() < how_.answers) out.push_back(std::move(e.answer));
    return out;
  }

 private:
  static constexpr float dead = -1e9f;  // transformers' stand-in for -inf
  struct beam {
    std::unique_ptr<any_session> state;
    std::vector<u32> ids;  // after the prompt
    float score;
  };
  struct candidate {
    float score;
    u32 beam, id;
    bool ends;
    // Better scores first; of equal ones the first beam, then the lowest id.
    bool operator<(const candidate& o) const {
      return score != o.score ? score > o.score : beam != o.beam ? beam < o.beam : id < o.id;
    }
    bool operator==(const candidate&) const = default;
  };
  struct ended {
    beam_answer answer{{}, dead, false};
    bool done = false;
  };

  // The best candidates of all beams and ids.
  std::vector<candidate> continuations() const {
    std::vector<candidate> best;
    for (u32 b = 0; b < beams_.size(); ++b) {
      const std::span<const float> logits = beams_[b].state->logits();
      std::vector<text::token_logprob> top(std::min(width_, logits.size()));
      text::log_probabilities(logits, 0, top);
      for (const text::token_logprob& t : top)
        best.push_back(
            {t.logprob + beams_[b].score, b, t.id, std::ranges::find(how_.stop_ids, t.id) != how_.stop_ids.end()});
    }
    std::sort(best.begin(), best.end());
    best.resize(std::min(width_, best.size()));
    return best;
  }

  // Of the best `beams` candidates, those that end here replace worse ended answers.
  void finish(const std::vector<candidate>& best, u32 length) {
    for (std::size_t i = 0; i < best.size() && i < how_.beams; ++i) {
      const candidate& c = best[i];
      if (!c.ends && length < how_.max_tokens) continue;
      const float score = c.score / penalty(length);
      const auto place = std::ranges::find_if(ended_, [&](const ended& e) { return e.answer.score < score; });
      if (place == ended_.end()) continue;
      std::vector<u32> ids = beams_[c.beam].ids;
      ids.push_back(c.id);
      std::rotate(place, ended_.end() - 1, ended_.end());
      *place = {{std::move(ids), score, c.ends}, true};
    }
  }
  bool all_done() const {
    return std::ranges::all_of(ended_, [](const ended& e) { return e.done; });
  }
  float penalty(u32 length) const {
    return static_cast<float>(std::pow(length, static_cast<double>(how_.length_penalty)));
  }

  // Whether the search goes on.
  bool goes_on(const std::vector<candidate>& best, u32 length) const {
    const auto first = std::ranges::find_if(best, [](const candidate& c) { return !c.ends; });
    if (first == best.end()) return false;
    const bool to_the_end = how_.end == beam_end::hopeless && how_.length_penalty > 0;
    const float possible = first->score / penalty(to_the_end ? how_.max_tokens : length),
                worst = ended_.back().answer.score;
    const bool hope = std::ranges::any_of(ended_, [&](const ended& e) { return possible > (e.done ? worst : dead); });
    return hope && !(how_.end == beam_end::enough && all_done());
  }

  // The best candidates that do not end become the beams, and are fed in one pass.
  void extend(const std::vector<candidate>& best) {
    std::vector<u32> heirs(beams_.size());
    std::vector<const candidate*> next;
    for (const candidate& c : best)
      if (!c.ends && next.size() < how_.beams) next.push_back(&c), ++heirs[c.beam];
    std::vector<beam> grown;
    for (const candidate* c : next) {
      beam& from = beams_[c->beam];
      std::vector<u32> ids = from.ids;
      ids.push_back(c->id);
      grown.push_back({--heirs[c->beam] ? from.state->fork() : std::move(from.state), std::move(ids), c->score});
    }
    beams_ = std::move(grown);
    std::vector<turn> turns;
    for (const beam& b : beams_) turns.push_back({b.state.get(), std::span(b.ids).last(1)});
    model_.feed_together(turns);
  }

  any_model& model_;
  const beam_options& how_;
  const u32 room_;
  const std::size_t width_;  // candidates of a step: enough to continue all beams, however many candidates end
  std::vector<beam> beams_;
  std::vector<ended> ended_;  // [beams], best first
};

}  // namespace detail

// The best answers after what `start` was fed, best first; `start` stays as it is. Throws config_range for options out
// of range, and what feeding throws.
inline std::vector<beam_answer> beam_search(any_model& model, const any_session& start, const beam_options& how) {
  return detail::beam_search(model, start, how).run();
}

// The best answers of a cke::Model to a prompt. Its own stop ids apply unless others are given.
template <class Model>
  requires(!std::derived_from<Model, any_model>)
std::vector<beam_answer> beam_search(const Model& model, std::span<const u32> prompt, beam_options how) {
  model_adapter<Model> shared(model);
  const auto start = shared.open();
  start->feed(prompt);
  if (how.stop_ids.empty()) how.stop_ids.assign(model.stop_ids().begin(), model.stop_ids().end());
  return beam_search(shared, *start, how);
}

}  // namespace cke

// SPDX-License-Identifier: MIT
// sampler.hpp: samples the next token from the logits of one position.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "../../core/concat.hpp"
#include "../../core/error.hpp"
#include "../../core/plain_list.hpp"
#include "logprobs.hpp"
#include "random.hpp"
#include "sampling.hpp"

namespace cke::text {

// Samples tokens for one sequence. Buffers are allocated at construction; sample() allocates nothing. There is no state
// between calls: the choice is a function of the arguments. Sums are in double precision and in an order fixed by
// logits and settings, so the choice depends on the machine only through the last bit of expf.
class sampler {
 public:
  struct candidate {
    u32 id;
    float score;      // (logit - highest logit) / temperature, <= 0
    float weight;     // exp(score); divided by total(), its probability
    double rank = 0;  // heaps have the lowest rank in front
  };

  // Throws errc::config_range for a setting out of range, errc::token_range for a bias outside of the vocabulary.
  sampler(u32 vocab_size, sampling settings) : vocab_size_(vocab_size), settings_(std::move(settings)) {
    settings_.validate();
    for (const auto& [id, bias] : settings_.logit_bias) {
      if (id < vocab_size) continue;
      throw Error(errc::token_range, "", "sampling.logit_bias", concat({"an id below ", vocab_size}), concat({id}));
    }
    penalizes_ = settings_.repeat_last_n > 0 &&
        (settings_.repetition_penalty != 1 || settings_.frequency_penalty != 0 || settings_.presence_penalty != 0);
    if (penalizes_) occurrences_.resize(vocab_size);
    if (penalizes_ || !settings_.logit_bias.empty()) adjusted_.resize(vocab_size);
    if (settings_.top_k >= vocab_size) settings_.top_k = 0;
    kept_.reserve(settings_.temperature == 0 ? 1 : vocab_size);
  }

  // Returns the token after `history` (prompt and answer so far), given the logits [vocab_size] of its last token.
  // Equal arguments give the same token; `position` selects the random number. Throws errc::config_range as
  // greedy_token does, errc::usage for a wrong number of logits.
  u32 sample(std::span<const float> logits, std::span<const u32> history, u64 position) {
    if (logits.size() != vocab_size_) {
      throw Error(errc::usage, "", "logits", concat({vocab_size_}), concat({u64{logits.size()}}));
    }
    const auto scores = adjust(logits, history);
    const u32 best = greedy_token(scores);
    if (settings_.temperature == 0) {
      kept_.clear(), kept_.push_back({best, 0, 1});
      return best;
    }
    gather(scores, scores[best]);
    if (settings_.top_p < 1) keep_top_p();
    if (settings_.min_p > 0) drop_below(static_cast<double>(settings_.min_p));
    if (settings_.typical_p < 1) keep_typical();
    return draw(uniform(settings_.seed, position));
  }

  // The candidates of the last sample(), in the order in which it added their weights.
  std::span<const candidate> kept() const { return kept_; }
  double total() const {
    double sum = 0;
    for (const auto& c : kept_) sum += static_cast<double>(c.weight);
    return sum;
  }

 private:
  // Applies bias and penalties; returns the logits themselves if there are none.
  std::span<const float> adjust(std::span<const float> logits, std::span<const u32> history) {
    if (adjusted_.empty()) return logits;
    std::copy(logits.begin(), logits.end(), adjusted_.begin());
    for (const auto& [id, bias] : settings_.logit_bias) adjusted_[id] += bias;
    if (!penalizes_) return adjusted_;

    // A history may contain ids without a logit, if the embedding has more rows than the head.
    const auto recent = history.last(std::min<std::size_t>(history.size(), settings_.repeat_last_n));
    for (const u32 id : recent) {
      if (id < vocab_size_) ++occurrences_[id];
    }
    for (const u32 id : recent) {
      if (id >= vocab_size_ || occurrences_[id] == 0) continue;
      float& score = adjusted_[id];
      score = score < 0 ? score * settings_.repetition_penalty : score / settings_.repetition_penalty;
      score -= static_cast<float>(std::exchange(occurrences_[id], 0)) * settings_.frequency_penalty;
      score -= settings_.presence_penalty;
    }
    return adjusted_;
  }

  // Fills kept_ with the top_k of `scores`, ordered by id.
  void gather(std::span<const float> scores, float highest) {
    const float lowest =
        settings_.top_k > 0 ? kth_highest(scores, settings_.top_k) : -std::numeric_limits<float>::infinity();
    kept_.clear();
    for (u32 id = 0; id < vocab_size_; ++id) {
      if (scores[id] < lowest) continue;
      // Subtracting the highest logit first prevents overflow for a temperature near 0.
      const float score = (scores[id] - highest) / settings_.temperature;
      if (std::isfinite(score)) kept_.push_back({id, score, std::exp(score)});
    }
  }

  // The k-th highest score, or -inf if fewer than k are above it.
  float kth_highest(std::span<const float> scores, u32 k) {
    float lowest = -std::numeric_limits<float>::infinity();
    kept_.clear();  // a heap of the best so far
    for (const float score : scores) {
      if (score <= lowest) continue;
      if (kept_.size() == k) {
        std::pop_heap(kept_.begin(), kept_.end(), after);
        kept_.pop_back();
      }
      kept_.push_back({0, score, 0, static_cast<double>(score)});
      std::push_heap(kept_.begin(), kept_.end(), after);
      if (kept_.size() == k) lowest = kept_.front().score;
    }
    return lowest;
  }
  // The order of heaps; among equal ranks, the lowest id is in front.
  static bool after(const candidate& a, const candidate& b) {
    return a.rank > b.rank || (a.rank == b.rank && a.id > b.id);
  }

  void drop_below(double weight) {
    const auto light = [=](const candidate& c) { return static_cast<double>(c.weight) < weight; };
    kept_.cut(std::remove_if(kept_.begin(), kept_.end(), light));
  }

  void keep_top_p() {
    const double sum = total();
    const double top_p = static_cast<double>(settings_.top_p);
    // All weights below this one sum to less than 1 - top_p of the total, so they surely belong to the tail. Real
    // logits lose nearly all candidates here, before the sort.
    drop_below((1 - top_p) * sum / static_cast<double>(kept_.size()));
    for (candidate& c : kept_) c.rank = static_cast<double>(-c.score);
    keep_first(top_p * sum, false);
  }

  // Locally typical sampling (Meister et al. 2022): keeps those with the least |-log p - entropy|. log(total) cancels,
  // so the distance is that of a score from the expected score.
  void keep_typical() {
    double sum = 0, expected = 0;
    for (const auto& c : kept_) {
      sum += static_cast<double>(c.weight);
      expected += static_cast<double>(c.weight) * static_cast<double>(c.score);
    }
    expected /= sum;
    for (candidate& c : kept_) c.rank = std::abs(static_cast<double>(c.score) - expected);
    keep_first(static_cast<double>(settings_.typical_p) * sum, true);
  }

  // Keeps the candidates of lowest rank (ties: lowest id) until their weights sum to `mass`; with `ties` also those of
  // the same rank as the last one. Sorts only as far as necessary.
  void keep_first(double mass, bool ties) {
    std::make_heap(kept_.begin(), kept_.end(), after);
    candidate* heap_end = kept_.end();  // removed candidates are stored after the heap, in reverse order
    for (double sum = 0, last = 0; heap_end != kept_.begin();) {
      const candidate next = kept_.front();
      if (heap_end != kept_.end() && sum >= mass && !(ties && next.rank == last)) break;
      sum += static_cast<double>(next.weight);
      last = next.rank;
      std::pop_heap(kept_.begin(), heap_end--, after);
    }
    std::reverse(kept_.begin(), kept_.end());
    kept_.cut(kept_.begin() + (kept_.end() - heap_end));
  }

  u32 draw(double u) const {
    const double target = u * total();  // less than the sum of all weights, because u < 1
    double sum = 0;
    for (const auto& c : kept_) {
      sum += static_cast<double>(c.weight);
      if (sum > target) return c.id;
    }
    return kept_.back().id;
  }

  u32 vocab_size_;
  sampling settings_;
  bool penalizes_ = false;
  plain_list<u32> occurrences_;  // [vocab_size], all 0 between calls
  plain_list<float> adjusted_;   // [vocab_size], empty when nothing adjusts the logits
  plain_list<candidate> kept_;
};

}  // namespace cke::text

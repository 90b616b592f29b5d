// SPDX-License-Identifier: MIT
// tune_rule.hpp: when a candidate of cke tune counts as faster: paired rounds, of which all but one must say so.
#pragma once

#include <algorithm>
#include <vector>

#include <cke/core/types.hpp>

#include "rooms.hpp"

namespace cke::tool {

inline constexpr u32 tune_rounds = 8, tune_lost_rounds = 1;
inline constexpr double tune_gain = 0.02, tune_loss = 0.01;  // shares of the time

// The times of one kind of pass with a candidate over those without it, a ratio for each round.
struct paired_times {
  std::vector<double> ratios{};

  void add(double candidate, double incumbent) { ratios.push_back(candidate / incumbent); }
  u32 faster() const {
    return static_cast<u32>(std::ranges::count_if(ratios, [](double r) { return r < 1; }));
  }
  double median() const {
    std::vector<double> sorted = ratios;
    std::ranges::sort(sorted);
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }
  bool can_win() const { return ratios.size() - faster() <= tune_lost_rounds; }
  // After all rounds.
  bool wins() const { return can_win() && median() < 1 - tune_gain; }
  bool loses() const { return median() > 1 + tune_loss; }
};

// A candidate is kept if one of the kinds of passes wins, and none of them loses.
inline bool is_kept(const std::vector<paired_times>& measured) {
  return std::ranges::any_of(measured, &paired_times::wins) && std::ranges::none_of(measured, &paired_times::loses);
}
// Further rounds cannot change the answer.
inline bool is_lost(const std::vector<paired_times>& measured) {
  return std::ranges::none_of(measured, &paired_times::can_win);
}

}  // namespace cke::tool

// SPDX-License-Identifier: MIT
// schedule.hpp: how the learning rate changes over a run.
#pragma once

#include <cmath>

#include "../core/types.hpp"

namespace cke::train {

// The learning rate of step 1 .. steps: it rises for `warmup` steps, and falls from `most` to `least` after them.
enum class decay : u8 { constant, linear, cosine };
struct rate_schedule {
  decay how = decay::cosine;
  double most = 1e-3, least = 0;
  u64 warmup = 0, steps = 1;
  double at(u64 step) const {
    if (step <= warmup) return most * static_cast<double>(step) / static_cast<double>(warmup);
    if (how == decay::constant) return most;
    const double part = static_cast<double>(step - warmup) / static_cast<double>(steps > warmup ? steps - warmup : 1);
    constexpr double pi = 3.14159265358979323846;
    return how == decay::linear ? most + (least - most) * part : least + (most - least) * (1 + std::cos(pi * part)) / 2;
  }
};

}  // namespace cke::train

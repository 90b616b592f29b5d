// SPDX-License-Identifier: MIT
// kept_states.hpp: the states of a recurrence, forth and back.
#pragma once

#include <algorithm>

#include "../core/types.hpp"

namespace cke::train {

// On the way back a state is needed after the states that follow it. It is kept at every `apart` tokens, and those in
// between are computed again.
//
// Walks a sequence forth and back with a state of `floats` numbers: advance(t, before, after) computes the state after
// token t, and retreat(t, before, after) is then called for falling t. Memory: bytes(floats, longest).
struct kept_states {
  static constexpr u32 apart = 16;
  static u64 bytes(u64 floats, u32 longest) { return (ceil_div(longest, apart) + apart + 1) * floats * sizeof(float); }
  template <class Advance, class Retreat>
  static void walk(u32 tokens, u64 floats, float* memory, Advance advance, Retreat retreat) {
    const u32 runs = ceil_div(tokens, apart);
    float* const within = memory + runs * floats;  // [apart + 1] states: before and after each token of a run
    std::fill_n(within, floats, 0.f);
    for (u32 run = 0; run < runs; ++run) {
      std::copy_n(within, floats, memory + run * floats);
      if (run + 1 == runs) break;
      for (u32 k = 0; k < apart; ++k) {
        float *const before = within + (k % 2) * floats, *const after = within + ((k + 1) % 2) * floats;
        advance(run * apart + k, before, after);
      }
      static_assert(apart % 2 == 0);  // the last state is where the first was
    }
    for (u32 run = runs; run-- > 0;) {
      const u32 first = run * apart, n = std::min(apart, tokens - first);
      std::copy_n(memory + run * floats, floats, within);
      for (u32 k = 0; k < n; ++k) advance(first + k, within + k * floats, within + (k + 1) * floats);
      for (u32 k = n; k-- > 0;) retreat(first + k, within + k * floats, within + (k + 1) * floats);
    }
  }
};

}  // namespace cke::train

// SPDX-License-Identifier: MIT
// trace.hpp: a callback that is told when each thread worked on which step of a pass.
#pragma once

#include "clock.hpp"

namespace cke::runtime {

// take(user, thread, code, step, begin, end) is called on each thread after each phase, once for each step and then for
// the wait at the barrier; it must not throw. Codes are numbered as in the plan: header, bodies, footer. Times are ns
// of the steady clock. The steps of a phase alternate from unit to unit: the times of a step are summed over the units,
// and the sums are reported as if the steps had run one after the other.
struct tracer {
  static constexpr u32 waiting = ~0u;  // instead of a step

  void (*take)(void* user, u32 thread, u32 code, u32 step, u64 begin, u64 end){};
  void* user{};

  explicit operator bool() const { return take; }
  // Without a callback no clock is read.
  u64 now() const { return take ? now_ns() : 0; }
};

}  // namespace cke::runtime

// SPDX-License-Identifier: MIT
// clock.hpp: nanoseconds of a clock that never goes back.
#pragma once

#include <time.h>

#include "../core/types.hpp"

namespace cke::runtime {

// The same clock as std::chrono::steady_clock. <chrono> itself would be 2 % of the time that a program with one model
// takes to compile.
inline u64 now_ns() {
  timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<u64>(t.tv_sec) * 1'000'000'000 + static_cast<u64>(t.tv_nsec);
}

}  // namespace cke::runtime

// SPDX-License-Identifier: MIT
// clock.hpp: nanoseconds of a clock that never goes back.
#pragma once

#include <time.h>

#include "../core/types.hpp"

namespace cke::runtime {

// What std::chrono::steady_clock reads, without <chrono>: its calendars are 2 % of what a program of one model takes to compile.
inline u64 now_ns() {
  timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<u64>(t.tv_sec) * 1'000'000'000 + static_cast<u64>(t.tv_nsec);
}

}  // namespace cke::runtime

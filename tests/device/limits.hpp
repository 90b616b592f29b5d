// SPDX-License-Identifier: MIT
// limits.hpp: seconds that each part of the check may take: less than ten minutes in all.
#pragma once

namespace device_check::limits {

inline constexpr unsigned machine = 30, toy = 20, answers_of_the_cpu = 150, format = 80, jitter = 90, sanitizer = 25,
                          peer = 20;
inline constexpr unsigned formats = 2, sanitizers = 3;
static_assert(machine + toy + answers_of_the_cpu + formats * (format + peer) + jitter + sanitizers * (sanitizer + 3) <
              600);

}  // namespace device_check::limits

// SPDX-License-Identifier: MIT
// limits.hpp: seconds that each part of the check may take, and all of them: nine minutes.
#pragma once

namespace device_check::limits {

inline constexpr unsigned all = 540;
inline constexpr unsigned machine = 20, toy = 25, lane_copies = 25, answers_of_the_cpu = 100, answers = 50, speed = 55,
                          time = 40, jitter = 60, sanitizer = 45, peer = 10;
inline constexpr unsigned formats = 2, sanitizers = 3;
// What nothing delays takes a third of that. Where several parts are late, those at the end have no time.
static_assert(machine + toy + lane_copies + answers_of_the_cpu + formats * (answers + speed + time) + jitter <= all);

}  // namespace device_check::limits

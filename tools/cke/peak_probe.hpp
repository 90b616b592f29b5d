// SPDX-License-Identifier: MIT
// peak_probe.hpp: the machine's peaks, for the isa that a model was compiled for.
#pragma once

#include <functional>
#include <string_view>

#include <cke/tune/peaks.hpp>

#include "rooms.hpp"

namespace cke::tool {

struct peak_probe {
  std::function<machine_peaks()> measure;  // all of them
  std::function<double()> read_turn;       // GB/s of a moment: machine_probe::read_turn
};
peak_probe peak_probe_of(std::string_view isa, u32 threads);
// The rate of f32 alone; scalar code has none, 0.
double f32_peak_of(std::string_view isa, u32 threads);

}  // namespace cke::tool

// SPDX-License-Identifier: MIT
// device_sampling.hpp: how a device samples the next id.
#pragma once

#include "../core/types.hpp"

namespace cke::runtime {

// Temperature 0 is greedy. Otherwise the id is drawn from softmax(logits / temperature), with a random number that
// depends on seed and position alone.
struct device_sampling {
  float temperature = 0;
  u64 seed = 0;
};

}  // namespace cke::runtime

// SPDX-License-Identifier: MIT
// device_sampling.hpp: how a device chooses the next id by itself.
#pragma once

#include "../core/types.hpp"

namespace cke::runtime {

// At temperature 0 the likeliest; else by the probabilities of logits / temperature, a function of seed and position alone.
struct device_sampling {
  float temperature = 0;
  u64 seed = 0;
};

}  // namespace cke::runtime

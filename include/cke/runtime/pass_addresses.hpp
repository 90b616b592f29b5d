// SPDX-License-Identifier: MIT
// pass_addresses.hpp: the addresses of a pass's memory.
#pragma once

#include "../core/types.hpp"

namespace cke::runtime {

// Where the parts of a pass's memory begin, for one thread and an executor that knows the places in them.
struct pass_addresses {
  std::byte *stream, *layer_inputs, *shared, *own, *scratch;
  float* parts;
};

}  // namespace cke::runtime

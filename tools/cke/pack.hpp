// SPDX-License-Identifier: MIT
// pack.hpp: writes a bundle.
#pragma once

#include <string>

#include "cache.hpp"
#include "commands.hpp"
#include "rooms.hpp"
#include "unit.hpp"

namespace cke::tool {

struct written_bundle {
  unit of;
  cached_library compiled;
  std::string name, isa;  // of the model; of its packed weights
  u64 weight_bytes{};
};

// Packs the model with its unit made for `whom`. Throws Error.
written_bundle write_bundle(const pack_args& args, made_for whom);

}  // namespace cke::tool

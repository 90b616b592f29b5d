// SPDX-License-Identifier: MIT
// inspected.hpp: what cke inspect tells of a checkpoint, as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "rooms.hpp"

namespace cke::tool {

// What `cke inspect --json` prints. Throws Error.
nlohmann::ordered_json inspected(const inspect_args& args);

}  // namespace cke::tool

// SPDX-License-Identifier: MIT
// rank_plan.hpp: formats what a program's ranks hold and exchange for people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "rooms.hpp"

namespace cke::tool {

// Formats the JSON of cke_ranks_plan_json.
std::string rank_plan_text(const nlohmann::ordered_json& plan);

}  // namespace cke::tool

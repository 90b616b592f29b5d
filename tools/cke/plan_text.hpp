// SPDX-License-Identifier: MIT
// plan_text.hpp: a program and its memory plan, for people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "rooms.hpp"

namespace cke::tool {

// Of what cke_model_plan_json writes: every instruction of each block with its phase at decode, fusions, memory.
std::string plan_text(const nlohmann::ordered_json& plan);

}  // namespace cke::tool

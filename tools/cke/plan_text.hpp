// SPDX-License-Identifier: MIT
// plan_text.hpp: formats a program and its memory plan for people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "rooms.hpp"

namespace cke::tool {

// Formats the JSON of cke_model_plan_json: the instructions of each block with their decode phase, fusions, memory.
std::string plan_text(const nlohmann::ordered_json& plan);

}  // namespace cke::tool

// SPDX-License-Identifier: MIT
// qwen3_5_moe.hpp: everything to run a Qwen3.5 with experts from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/qwen3_5_moe.hpp"

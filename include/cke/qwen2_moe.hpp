// SPDX-License-Identifier: MIT
// qwen2_moe.hpp: everything to run a Qwen2 with experts from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/qwen2_moe.hpp"

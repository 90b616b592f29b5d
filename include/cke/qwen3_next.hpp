// SPDX-License-Identifier: MIT
// qwen3_next.hpp: everything to run a Qwen3-Next from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/qwen3_next.hpp"

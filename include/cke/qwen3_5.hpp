// SPDX-License-Identifier: MIT
// qwen3_5.hpp: everything to run a Qwen3.5 from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/qwen3_5.hpp"

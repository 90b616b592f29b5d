// SPDX-License-Identifier: MIT
// qwen3.hpp: everything to run a Qwen3 from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/qwen3.hpp"

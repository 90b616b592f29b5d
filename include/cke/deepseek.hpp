// SPDX-License-Identifier: MIT
// deepseek.hpp: everything to run a DeepSeek-V2 or V3, or a model of its shape, from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/deepseek.hpp"

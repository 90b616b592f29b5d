// SPDX-License-Identifier: MIT
// smollm3.hpp: everything to run a SmolLM3, or a model of its shape, from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/smollm3.hpp"

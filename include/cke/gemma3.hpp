// SPDX-License-Identifier: MIT
// gemma3.hpp: everything to run a Gemma 3, or a model of its shape, from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/gemma3.hpp"

// SPDX-License-Identifier: MIT
// gemma4.hpp: everything to run a Gemma 4, or a model of its shape, from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/gemma4.hpp"

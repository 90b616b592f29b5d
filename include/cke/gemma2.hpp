// SPDX-License-Identifier: MIT
// gemma2.hpp: everything to run a Gemma 2, or a model of its shape, from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/gemma2.hpp"

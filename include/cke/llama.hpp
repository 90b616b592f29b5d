// SPDX-License-Identifier: MIT
// llama.hpp: everything to run a Llama, or a model of its shape, from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/llama.hpp"

// SPDX-License-Identifier: MIT
// qwen2.hpp: everything to run a Qwen2, or a model of its shape, from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/qwen2.hpp"

// SPDX-License-Identifier: MIT
// olmo2.hpp: everything to run a OLMo 2, or a model of its shape, from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/olmo2.hpp"

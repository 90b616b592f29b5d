// SPDX-License-Identifier: MIT
// olmoe.hpp: everything to run an OLMoE from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/olmoe.hpp"

// SPDX-License-Identifier: MIT
// glm4_moe.hpp: everything to run a GLM-4.5 from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/glm4_moe.hpp"

// SPDX-License-Identifier: MIT
// glm4.hpp: everything to run a GLM-4, or a model of its shape, from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/glm4.hpp"

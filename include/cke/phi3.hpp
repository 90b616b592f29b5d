// SPDX-License-Identifier: MIT
// phi3.hpp: everything to run a Phi-3, or a model of its shape, from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/phi3.hpp"

// SPDX-License-Identifier: MIT
// mistral.hpp: everything to run a Mistral, or a model of its shape, from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/mistral.hpp"

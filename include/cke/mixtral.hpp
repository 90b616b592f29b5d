// SPDX-License-Identifier: MIT
// mixtral.hpp: everything to run a Mixtral from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/mixtral.hpp"

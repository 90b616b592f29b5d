// SPDX-License-Identifier: MIT
// mamba2.hpp: everything to run a Mamba 2 from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/mamba2.hpp"

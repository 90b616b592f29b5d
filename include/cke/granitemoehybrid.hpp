// SPDX-License-Identifier: MIT
// granitemoehybrid.hpp: everything to run a Granite 4 from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/granitemoehybrid.hpp"

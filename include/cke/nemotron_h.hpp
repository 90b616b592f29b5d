// SPDX-License-Identifier: MIT
// nemotron_h.hpp: everything to run a Nemotron-H from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/nemotron_h.hpp"

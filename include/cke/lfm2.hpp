// SPDX-License-Identifier: MIT
// lfm2.hpp: everything to run an LFM2 from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/lfm2.hpp"

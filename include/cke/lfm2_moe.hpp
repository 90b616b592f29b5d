// SPDX-License-Identifier: MIT
// lfm2_moe.hpp: everything to run an LFM2 with experts from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/lfm2_moe.hpp"

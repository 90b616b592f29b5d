// SPDX-License-Identifier: MIT
// granite.hpp: everything to run a Granite, or a model of its shape, from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/granite.hpp"

// SPDX-License-Identifier: MIT
// granitemoe.hpp: everything to run a Granite with experts from a GGUF file.
#pragma once

#include "model.hpp"
#include "models/granitemoe.hpp"

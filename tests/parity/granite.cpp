// SPDX-License-Identifier: MIT
// granite.cpp: granite in f32 against transformers.
#include <cke/models/granite.hpp>

#include "parity.hpp"

TEST_CASE("parity: granite: four multipliers") { parity::check_family<configs::granite>("granite"); }

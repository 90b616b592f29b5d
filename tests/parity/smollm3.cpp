// SPDX-License-Identifier: MIT
// smollm3.cpp: smollm3 in f32 against transformers.
#include <cke/models/smollm3.hpp>

#include "parity.hpp"

TEST_CASE("parity: smollm3: layers without rope") { parity::check_family<configs::smollm3>("smollm3"); }

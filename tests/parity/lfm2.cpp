// SPDX-License-Identifier: MIT
// lfm2.cpp: LFM2 in f32 against transformers.
#include <cke/models/lfm2.hpp>

#include "parity.hpp"

TEST_CASE("parity: lfm2: short convolutions, and a layer that attends") { parity::check_family<configs::lfm2>("lfm2"); }

// SPDX-License-Identifier: MIT
// lfm2_moe.cpp: LFM2 with experts in f32 against transformers.
#include <cke/models/lfm2_moe.hpp>

#include "parity.hpp"

TEST_CASE("parity: lfm2_moe: four taps, a dense and an expert layer of each mixer") { parity::check_family<configs::lfm2_moe>("lfm2_moe"); }

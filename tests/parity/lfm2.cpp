// SPDX-License-Identifier: MIT
// lfm2.cpp: LFM2, without experts and with, in f32 against transformers.
#include <cke/models/lfm2.hpp>
#include <cke/models/lfm2_moe.hpp>

#include "parity.hpp"

TEST_CASE("parity: lfm2: short convolutions, and a layer that attends") { parity::check_family<configs::lfm2>("lfm2"); }
TEST_CASE("parity: lfm2_moe: four taps, a dense and an expert layer of each mixer") {
  parity::check_family<configs::lfm2_moe>("lfm2_moe");
}

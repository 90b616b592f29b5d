// SPDX-License-Identifier: MIT
// deepseek.cpp: deepseek_v2 and v3 in f32 against transformers.
#include <cke/models/deepseek.hpp>

#include "parity.hpp"

TEST_CASE("parity: deepseek_v2: latent attention, groups by their best expert") { parity::check_family<configs::deepseek_v2>("deepseek_v2"); }
TEST_CASE("parity: deepseek_v3: queries of low rank, groups by their best two, yarn's temperature") {
  parity::check_family<configs::deepseek_v3>("deepseek_v3");
}

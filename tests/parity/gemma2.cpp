// SPDX-License-Identifier: MIT
// gemma2.cpp: gemma2 in f32 against transformers.
#include <cke/models/gemma2.hpp>

#include "parity.hpp"

TEST_CASE("parity: gemma2: sliding and full layers, capped scores and logits") {
  parity::check_family<configs::gemma2>("gemma2");
}

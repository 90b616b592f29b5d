// SPDX-License-Identifier: MIT
// gemma4.cpp: gemma4 in f32 against transformers.
#include <cke/models/gemma4.hpp>

#include "parity.hpp"

TEST_CASE("parity: gemma4: layers of two head sizes, shared caches, an embedding for each layer") {
  parity::check_family<configs::gemma4_text>("gemma4_text");
}
TEST_CASE("parity: gemma4: experts beside the mlp, values that are keys") {
  parity::check_family<configs::gemma4_experts>("gemma4_experts");
}

// SPDX-License-Identifier: MIT
// gemma3.cpp: gemma3 in f32 against transformers.
#include <cke/models/gemma3.hpp>

#include "parity.hpp"

TEST_CASE("parity: gemma3: two ropes, two windows, norms of the heads") {
  parity::check_family<configs::gemma3_text>("gemma3_text");
}

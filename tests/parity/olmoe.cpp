// SPDX-License-Identifier: MIT
// olmoe.cpp: OLMoE in f32 against transformers.
#include <cke/models/olmoe.hpp>

#include "parity.hpp"

TEST_CASE("parity: olmoe: norms over all of q and of k, weights that do not add up to 1") {
  parity::check_family<configs::olmoe>("olmoe");
}

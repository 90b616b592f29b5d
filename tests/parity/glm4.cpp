// SPDX-License-Identifier: MIT
// glm4.cpp: glm4 in f32 against transformers.
#include <cke/models/glm4.hpp>

#include "parity.hpp"

TEST_CASE("parity: glm4: half of a head in adjacent pairs, gate and up in one tensor") {
  parity::check_family<configs::glm4>("glm4");
}

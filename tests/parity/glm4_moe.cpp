// SPDX-License-Identifier: MIT
// glm4_moe.cpp: GLM-4.5 in f32 against transformers.
#include <cke/models/glm4_moe.hpp>

#include "parity.hpp"

TEST_CASE("parity: glm4_moe: a dense layer, sigmoid scores with a bias, shared experts") {
  parity::check_family<configs::glm4_moe>("glm4_moe");
}

// SPDX-License-Identifier: MIT
// phi3.cpp: phi3 in f32 against transformers.
#include <cke/models/phi3.hpp>

#include "parity.hpp"

TEST_CASE("parity: phi3: longrope, a part of a head, q, k and v in one tensor") {
  parity::check_family<configs::phi3>("phi3");
}

// SPDX-License-Identifier: MIT
// granitemoe.cpp: Granite with experts in f32 against transformers.
#include <cke/models/granitemoe.hpp>

#include "parity.hpp"

TEST_CASE("parity: granitemoe: experts in one tensor, a softmax of the chosen, multipliers") {
  parity::check_family<configs::granitemoe>("granitemoe");
}

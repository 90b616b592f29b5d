// SPDX-License-Identifier: MIT
// olmo2.cpp: olmo2 in f32 against transformers.
#include <cke/models/olmo2.hpp>

#include "parity.hpp"

TEST_CASE("parity: olmo2: norms after the branches, q and k normed whole") {
  parity::check_family<configs::olmo2>("olmo2");
}

// SPDX-License-Identifier: MIT
// rope_yarn.cpp: yarn past the original length, in f32 against transformers.
#include "parity.hpp"

TEST_CASE("parity: rope yarn: by default, untruncated with its own factors, and with mscale") {
  parity::check_directory<configs::rope_yarn>("rope_yarn");
  parity::check_directory<configs::rope_yarn_exact>("rope_yarn_exact");
  parity::check_directory<configs::rope_yarn_mscale>("rope_yarn_mscale");
}

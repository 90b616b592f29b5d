// SPDX-License-Identifier: MIT
// rope_long.cpp: longrope on both sides of the original length, and qwen3 with yarn, in f32 against transformers.
#include "parity.hpp"

TEST_CASE("parity: rope longrope: long and short factors") {
  parity::check_directory<configs::rope_longrope>("rope_longrope");
  // beyond 80 positions the long factors would hold
  parity::check_directory<configs::rope_longrope_short>("rope_longrope_short", 80);
}

TEST_CASE("parity: qwen3 with rope yarn, as its model card gives it") {
  parity::check_directory<configs::qwen3_yarn>("qwen3_yarn");
}

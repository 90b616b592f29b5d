// SPDX-License-Identifier: MIT
// qwen3_moe.cpp: Qwen3 with experts in f32 against transformers.
#include <cke/models/qwen3_moe.hpp>

#include "parity.hpp"

TEST_CASE("parity: qwen3_moe: moe_options apart, and in one tensor") {
  parity::check_family<configs::qwen3_moe>("qwen3_moe");
}

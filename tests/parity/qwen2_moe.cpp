// SPDX-License-Identifier: MIT
// qwen2_moe.cpp: Qwen2 with experts in f32 against transformers.
#include <cke/models/qwen2_moe.hpp>

#include "parity.hpp"

TEST_CASE("parity: qwen2_moe: a shared expert with a gate") { parity::check_family<configs::qwen2_moe>("qwen2_moe"); }

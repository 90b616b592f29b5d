// SPDX-License-Identifier: MIT
// qwen2.cpp: qwen2 in f32 against transformers.
#include <cke/models/qwen2.hpp>

#include "parity.hpp"

TEST_CASE("parity: qwen2: biases of q, k and v") { parity::check_family<configs::qwen2>("qwen2"); }

// SPDX-License-Identifier: MIT
// qwen3_5.cpp: Qwen3.5, without experts and with, and Qwen3-Next, in f32 against transformers.
#include <cke/models/qwen3_5.hpp>
#include <cke/models/qwen3_5_moe.hpp>
#include <cke/models/qwen3_next.hpp>

#include "parity.hpp"

// In GGUF value heads lie in another order.
template <const auto& Config> constexpr auto tiled = [] {
  auto c = cke::from_config<Config>::config;
  c.tiled = true;
  return c;
}();

// The logits of these two are about 20, and delta nets amplify rounding: transformers' own float32 is 1.7e-4
// (qwen3_5_moe) and 8.7e-5 (qwen3_next) from its float64, cke's 7e-5 to 1.2e-4, the scalar kernels' not less.
constexpr double rounding_of_delta_nets = 2e-4;

TEST_CASE("parity: qwen3_5: gated delta nets with shared key heads, attention with a gate and a quarter of rope") {
  parity::check_family<configs::qwen3_5_text, cke::qwen3_5<tiled<configs::qwen3_5_text>>>("qwen3_5_text");
}
TEST_CASE("parity: qwen3_5_moe: an arrangement of its own, and a shared expert") {
  parity::check_family<configs::qwen3_5_moe_text, cke::qwen3_5_moe<tiled<configs::qwen3_5_moe_text>>>(
      "qwen3_5_moe_text", rounding_of_delta_nets);
}
TEST_CASE("parity: qwen3_next: projections by key head in one tensor") {
  parity::check_family<configs::qwen3_next>("qwen3_next", rounding_of_delta_nets);
}

// SPDX-License-Identifier: MIT
// experts.cpp: gradients of families with mixtures of experts.
#include <cke/models/deepseek.hpp>
#include <cke/models/gemma4.hpp>
#include <cke/models/glm4_moe.hpp>
#include <cke/models/granitemoe.hpp>
#include <cke/models/mixtral.hpp>
#include <cke/models/olmoe.hpp>
#include <cke/models/qwen2_moe.hpp>
#include <cke/models/qwen3_moe.hpp>

#include "gradients.hpp"

TEST_CASE("train: mixtral: a softmax of the chosen") { training::check_gradients<configs::mixtral>("mixtral"); }
TEST_CASE("train: qwen2_moe: a shared expert with a gate") {
  training::check_gradients<configs::qwen2_moe>("qwen2_moe");
}
TEST_CASE("train: qwen3_moe: weights that add up to 1") { training::check_gradients<configs::qwen3_moe>("qwen3_moe"); }
TEST_CASE("train: olmoe") { training::check_gradients<configs::olmoe>("olmoe"); }
TEST_CASE("train: granitemoe: experts in one tensor") { training::check_gradients<configs::granitemoe>("granitemoe"); }
TEST_CASE("train: glm4_moe: sigmoids, a bias that is no parameter") {
  training::check_gradients<configs::glm4_moe>("glm4_moe");
}
TEST_CASE("train: gemma4: learned scales of experts, values that are keys") {
  training::check_gradients<configs::gemma4_experts>("gemma4_experts");
}
TEST_CASE("train: deepseek_v2: latents") { training::check_gradients<configs::deepseek_v2>("deepseek_v2"); }
TEST_CASE("train: deepseek_v3: latents, queries of low rank") {
  training::check_gradients<configs::deepseek_v3>("deepseek_v3");
}

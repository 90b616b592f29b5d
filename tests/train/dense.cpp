// SPDX-License-Identifier: MIT
// dense.cpp: gradients of families whose layers are attention and an mlp.
#include <cke/models/gemma2.hpp>
#include <cke/models/gemma3.hpp>
#include <cke/models/gemma4.hpp>
#include <cke/models/glm4.hpp>
#include <cke/models/granite.hpp>
#include <cke/models/mistral.hpp>
#include <cke/models/olmo2.hpp>
#include <cke/models/phi3.hpp>
#include <cke/models/qwen2.hpp>
#include <cke/models/smollm3.hpp>

#include "gradients.hpp"

TEST_CASE("train: qwen2: biases") { training::check_gradients<configs::qwen2>("qwen2"); }
TEST_CASE("train: mistral: a window") { training::check_gradients<configs::mistral>("mistral"); }
TEST_CASE("train: gemma2: soft caps, four norms, a tied head") { training::check_gradients<configs::gemma2>("gemma2"); }
TEST_CASE("train: gemma3: norms of heads, two ropes") {
  training::check_gradients<configs::gemma3_text>("gemma3_text");
}
TEST_CASE("train: gemma4: shared caches, an embedding for each layer") {
  training::check_gradients<configs::gemma4_text>("gemma4_text");
}
TEST_CASE("train: glm4: a rope of pairs, part of a head") { training::check_gradients<configs::glm4>("glm4"); }
TEST_CASE("train: granite: four multipliers") { training::check_gradients<configs::granite>("granite"); }
TEST_CASE("train: olmo2: norms of whole rows") { training::check_gradients<configs::olmo2>("olmo2"); }
TEST_CASE("train: phi3: q, k and v in one tensor, longrope") { training::check_gradients<configs::phi3>("phi3"); }
TEST_CASE("train: smollm3: layers without a rope") { training::check_gradients<configs::smollm3>("smollm3"); }

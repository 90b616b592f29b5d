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

TEST_CASE("train: a learned scale of 0 has the gradient that the loss has there") {
  using namespace training;
  using model = from_config<configs::gemma4_experts>;
  using part = trainer<model>::part;
  const checkpoint from = open_family("gemma4_experts");
  const sequences s(fixture("gemma4_experts"));
  const trainer_options options{.threads = 2, .context = s.longest(), .optimizes = false};
  std::size_t scale = 0;
  while (from.tensors.tensors()[scale].name != "model.layers.3.router.per_expert_scale") ++scale;
  std::vector<float> w(numbers_of(from.tensors.tensors()[scale])), gradient(w.size());
  // The loss, with this for the scales of the last layer, behind which no choice of experts can change.
  const auto loss_of = [&](const std::vector<float>& scales, float* to) {
    trainer<model> t(from, options);
    t.write(scale, part::weights, scales.data());
    const double loss = t.add_gradients(s.examples());
    if (to) t.read(scale, part::gradients, to);
    return loss;
  };
  trainer<model>(from, options).read(scale, part::weights, w.data());
  double most = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    std::vector<float> scales = w;
    scales[i] = 0;
    loss_of(scales, gradient.data());
    std::vector<float> ahead = scales, back = scales;
    ahead[i] = 2e-3f, back[i] = -2e-3f;
    const double slope = (loss_of(ahead, nullptr) - loss_of(back, nullptr)) / 4e-3;
    CHECK(double(gradient[i]) == doctest::Approx(slope).epsilon(0.02).scale(0.01));
    most = std::max(most, std::abs(slope));
  }
  CHECK(most > 0.01);
}

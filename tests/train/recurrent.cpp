// SPDX-License-Identifier: MIT
// recurrent.cpp: gradients of families whose layers have a recurrent state.
#include <cke/models/granitemoehybrid.hpp>
#include <cke/models/lfm2.hpp>
#include <cke/models/lfm2_moe.hpp>
#include <cke/models/mamba2.hpp>
#include <cke/models/nemotron_h.hpp>
#include <cke/models/qwen3_5.hpp>
#include <cke/models/qwen3_5_moe.hpp>
#include <cke/models/qwen3_next.hpp>

#include "gradients.hpp"

TEST_CASE("train: lfm2: short convolutions") { training::check_gradients<configs::lfm2>("lfm2"); }
TEST_CASE("train: lfm2_moe") { training::check_gradients<configs::lfm2_moe>("lfm2_moe"); }
TEST_CASE("train: mamba2: groups of heads") { training::check_gradients<configs::mamba2>("mamba2"); }
TEST_CASE("train: granitemoehybrid") { training::check_gradients<configs::granitemoehybrid>("granitemoehybrid"); }
TEST_CASE("train: granitemoehybrid: without experts") {
  training::check_gradients<configs::granitemoehybrid_dense>("granitemoehybrid_dense");
}
TEST_CASE("train: nemotron_h: an mlp of relu^2") { training::check_gradients<configs::nemotron_h>("nemotron_h"); }
TEST_CASE("train: nemotron_h: experts without gates") {
  training::check_gradients<configs::nemotron_h_experts>("nemotron_h_experts");
}
TEST_CASE("train: nemotron_h: experts of a latent") {
  training::check_gradients<configs::nemotron_h_latent>("nemotron_h_latent");
}
TEST_CASE("train: nemotron_h: biases") { training::check_gradients<configs::nemotron_h_biased>("nemotron_h_biased"); }
TEST_CASE("train: qwen3_5: gated delta nets") { training::check_gradients<configs::qwen3_5_text>("qwen3_5_text"); }
TEST_CASE("train: qwen3_5_moe") { training::check_gradients<configs::qwen3_5_moe_text>("qwen3_5_moe_text"); }
TEST_CASE("train: qwen3_next") { training::check_gradients<configs::qwen3_next>("qwen3_next"); }

// SPDX-License-Identifier: MIT
// mamba2.cpp: what has mamba2 mixers, in f32 against transformers: Mamba 2, Granite 4 and Nemotron-H.
#include <cke/models/granitemoehybrid.hpp>
#include <cke/models/mamba2.hpp>
#include <cke/models/nemotron_h.hpp>

#include "parity.hpp"

TEST_CASE("parity: mamba2: groups of heads, and nothing that attends") {
  parity::check_family<configs::mamba2>("mamba2");
}
TEST_CASE("parity: granitemoehybrid: attention without a rope, experts beside an mlp") {
  parity::check_family<configs::granitemoehybrid>("granitemoehybrid");
}
TEST_CASE("parity: granitemoehybrid: attention with a rope, an mlp alone") {
  parity::check_family<configs::granitemoehybrid_dense>("granitemoehybrid_dense");
}
TEST_CASE("parity: nemotron_h: layers of one part each, an mlp of relu^2") {
  parity::check_family<configs::nemotron_h>("nemotron_h");
}
TEST_CASE("parity: nemotron_h: experts without gates, and a shared one") {
  parity::check_family<configs::nemotron_h_experts>("nemotron_h_experts");
}
TEST_CASE("parity: nemotron_h: experts of a latent") {
  parity::check_family<configs::nemotron_h_latent>("nemotron_h_latent");
}
TEST_CASE("parity: nemotron_h: biases of an mlp, of a shared expert and of a latent's matrices") {
  parity::check_family<configs::nemotron_h_biased>("nemotron_h_biased");
}

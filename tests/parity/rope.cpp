// SPDX-License-Identifier: MIT
// rope.cpp: scaled rope past the original length, in f32 against transformers.
#include "parity.hpp"

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

TEST_CASE("parity: rope linear and llama3, in both spellings") {
  parity::check_directory<configs::rope_linear>("rope_linear");
  parity::check_directory<configs::rope_llama3>("rope_llama3");
  static_assert(std::is_same_v<from_config<configs::rope_llama3>, from_config<configs::rope_llama3_published>>);
  parity::check_directory<configs::rope_llama3_published>("rope_llama3_published");
}

// The base depends on the length that the model is loaded for: transformers' length of the pass.
TEST_CASE("parity: rope dynamic, at two lengths") {
  using model = Model<from_config<configs::rope_dynamic>, F32>;
  const checkpoint from = parity::open("rope_dynamic");
  const std::string dir = parity::model_path("rope_dynamic/");
  const parity::expected pass(dir), fixed(dir + "fixed_");

  const auto exact_length = model::load(from, parity::options(48));
  CHECK(parity::distance(parity::logits_of(exact_length, pass.ids), pass.logits).most <= parity::exact);

  parity::check<model>(from, fixed, parity::exact, 64);
  const auto longer = model::load(from, parity::options(64));
  CHECK(parity::distance(parity::logits_of(longer, pass.ids), pass.logits).most > 0.05);
}

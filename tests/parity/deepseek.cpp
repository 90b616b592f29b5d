// SPDX-License-Identifier: MIT
// deepseek.cpp: deepseek_v2 and v3 in f32 against transformers.
#include <cke/models/deepseek.hpp>

#include "parity.hpp"

TEST_CASE("parity: deepseek_v2: latent_attention_options attention, groups by their best expert") {
  parity::check_family<configs::deepseek_v2>("deepseek_v2");
}
TEST_CASE("parity: deepseek_v3: queries of low rank, groups by their best two, yarn's temperature") {
  parity::check_family<configs::deepseek_v3>("deepseek_v3");
}
TEST_CASE("parity: deepseek_v3 in 8-bit floats, a scale for each 128 x 128 of them") {
  using model = parity::Model<parity::from_config<configs::deepseek_v3>, parity::F32>;
  const std::string path = CKE_TEST_DATA "/models/deepseek_v3_fp8";
  parity::check<model>(parity::hf(path), parity::expected(path + '/'), parity::exact);
}

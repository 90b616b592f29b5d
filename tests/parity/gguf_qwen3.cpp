// SPDX-License-Identifier: MIT
// gguf_qwen3.cpp: one Qwen3 as a directory and as GGUF files, in f32 and in the files' formats.
#include "parity.hpp"

#include <cke/embed.hpp>

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;
using qwen3_tied = from_config<configs::qwen3_tied>;

TEST_CASE("parity: qwen3 with tied embeddings, from a directory and from gguf") {
  parity::check_directory<configs::qwen3_tied>("qwen3_tied");
  for (const char* name : {"qwen3_tied-F32", "qwen3_tied-BF16", "qwen3_tied-Q8_0"})
    parity::check_gguf<qwen3_tied, F32>(name, parity::f32_tolerance);
}
TEST_CASE("parity: qwen3 computed in bf16 and in q8_0") {
  parity::check_gguf<qwen3_tied, BF16>("qwen3_tied-BF16", parity::bf16_tolerance);
  parity::check_gguf<qwen3_tied, Q8_0>("qwen3_tied-Q8_0", parity::q8_0_tolerance);
}

TEST_CASE("parity: qwen3 without a head: hidden states, and what is pooled of them") {
  const std::string dir = CKE_TEST_DATA "/embedding/qwen3";
  const auto m = Model<qwen3_tied, F32>::load(hf(dir), parity::options(96));
  const std::vector<u32> ids = parity::read_ids(dir + "/ids.json");
  const std::vector<float> want = parity::read_npy(dir + "/hidden.npy");  // [ids, 32]
  std::vector<float> mean(32);
  double length = 0;
  for (u32 i = 0; i < ids.size(); ++i) {
    const std::vector<u32> text[]{{ids.begin(), ids.begin() + i + 1}};
    const std::vector<float> last = embed(m, text, {.normalised = false})[0];
    CHECK(parity::distance(last, std::span(want).subspan(i * 32, 32)).most <= parity::exact);
    for (u32 k = 0; k < 32; ++k) mean[k] += want[i * 32 + k] / static_cast<float>(ids.size());
  }
  for (const float x : mean) length += static_cast<double>(x) * static_cast<double>(x);
  for (float& x : mean) x = static_cast<float>(static_cast<double>(x) / std::sqrt(length));
  const std::vector<u32> text[]{ids};
  CHECK(parity::distance(embed(m, text, {.pooling = pooling::mean})[0], mean).most <= parity::exact);
}

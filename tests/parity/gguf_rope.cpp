// SPDX-License-Identifier: MIT
// gguf_rope.cpp: rope scaling as GGUF keeps it: llama3's in a tensor, yarn's in metadata.
#include "parity.hpp"

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

// The type's config with another rope: by llama 3's rule or yarn's, the file's own numbers.
static constexpr llama_config llama3 = [] {
  llama_config c = from_config<configs::llama_untied>::config;
  c.rope = {.theta = 1e4, .rule = rope_scaling::llama3, .factor = 8, .low = 1, .high = 4, .original = 16};
  return c;
}();
static constexpr qwen3_config yarn = [] {
  qwen3_config c = from_config<configs::qwen3_tied>::config;
  c.rope = {.theta = 1e4, .rule = rope_scaling::yarn, .factor = 4, .original = 16};
  return c;
}();

TEST_CASE("parity: llama3's rule as the tensor rope_freqs.weight") {
  parity::check_gguf<llama<llama3>, F32>("llama_untied-llama3-F16", parity::f32_tolerance);
  parity::check_gguf<llama<llama3>, F16>("llama_untied-llama3-F16", parity::f16_tolerance);
}
TEST_CASE("parity: yarn in metadata") {
  parity::check_gguf<qwen3<yarn>, F32>("qwen3_tied-yarn-Q8_0", parity::f32_tolerance);
}

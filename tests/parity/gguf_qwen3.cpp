// SPDX-License-Identifier: MIT
// gguf_qwen3.cpp: one Qwen3 as a directory and as GGUF files, in f32 and in the files' formats.
#include "parity.hpp"

using namespace cke;
using M = from_config<configs::qwen3_tied>;

TEST_CASE("parity: qwen3 with tied embeddings, from a directory and from gguf") {
  parity::check_directory<configs::qwen3_tied>("qwen3_tied");
  for (const char* name : {"qwen3_tied-F32", "qwen3_tied-BF16", "qwen3_tied-Q8_0"}) parity::check_gguf<M, F32>(name, parity::f32_tolerance);
}
TEST_CASE("parity: qwen3 computed in bf16 and in q8_0") {
  parity::check_gguf<M, BF16>("qwen3_tied-BF16", parity::bf16_tolerance);
  parity::check_gguf<M, Q8_0>("qwen3_tied-Q8_0", parity::q8_0_tolerance);
}

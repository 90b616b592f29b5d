// SPDX-License-Identifier: MIT
// qwen3.cpp: Qwen3 directories in f32 against transformers.
#include "parity.hpp"

TEST_CASE("parity: qwen3: untied, an odd shape, bfloat16 and float16 files") {
  parity::check_directory<configs::qwen3_untied>("qwen3_untied");
  parity::check_directory<configs::qwen3_odd>("qwen3_odd");
  parity::check_directory<configs::qwen3_bf16>("qwen3_bf16");
  parity::check_directory<configs::qwen3_f16>("qwen3_f16");
}

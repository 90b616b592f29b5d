// SPDX-License-Identifier: MIT
// llama.cpp: Llama directories in f32 against transformers.
#include "parity.hpp"

TEST_CASE("parity: llama: tied, biased, and in several files with an index") {
  parity::check_directory<configs::llama_tied>("llama_tied");
  parity::check_directory<configs::llama_bias>("llama_bias");
  parity::check_directory<configs::llama_sharded>("llama_sharded");
}

// SPDX-License-Identifier: MIT
// gguf_llama.cpp: one Llama as a directory and as GGUF files, whose rows of q and k are in pairwise order.
#include "parity.hpp"

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;
using llama_untied = from_config<configs::llama_untied>;

TEST_CASE("parity: llama with its own head, from a directory and from gguf") {
  parity::check_directory<configs::llama_untied>("llama_untied");
  for (const char* name : {"llama_untied-F32", "llama_untied-Q8_0"})
    parity::check_gguf<llama_untied, F32>(name, parity::f32_tolerance);
}
TEST_CASE("parity: llama computed in q8_0") {
  parity::check_gguf<llama_untied, Q8_0>("llama_untied-Q8_0", parity::q8_0_tolerance);
}

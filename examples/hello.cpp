// SPDX-License-Identifier: MIT
// hello.cpp: a Qwen3 from a GGUF file; the README's first block is this text.

#include <cke/qwen3.hpp>

#include <iostream>

int main() {
  // load throws cke::Error, which names file, tensor, expected and found. A session is one KV state; a copy is a fork.
  auto model = cke::Model<cke::Qwen3_0_6B, cke::Q8_0>::load("Qwen3-0.6B-Q8_0.gguf");
  auto session = model.session();
  for (std::string_view piece : session.generate("Tell me a story.", {.max_tokens = 64}))
    std::cout << piece << std::flush;
}

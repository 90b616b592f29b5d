// SPDX-License-Identifier: MIT
// hello.cpp: a Qwen3 from a GGUF file; the README's first block is this text.

#include <cke/qwen3.hpp>

#include <iostream>

int main() {
  auto model   = cke::Model<cke::Qwen3_0_6B, cke::Q8_0>::load("Qwen3-0.6B-Q8_0.gguf");   // throws cke::Error: file, tensor, expected, found
  auto session = model.session();                                                         // one KV state; copy = fork
  for (std::string_view piece : session.generate("Tell me a story.", {.max_tokens = 64})) std::cout << piece << std::flush;
}

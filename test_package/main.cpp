// SPDX-License-Identifier: MIT
// main.cpp: what a project that uses cke looks like: consumer DIR continues a story with the model in DIR.
#include <cke/hf.hpp>
#include <cke/qwen3.hpp>

#include <iostream>

// The shape of the model in assets/tiny.
struct Tiny : cke::qwen3<{.vocab = 1536,
                          .dim = 128,
                          .hidden = 384,
                          .layers = 5,
                          .heads = 4,
                          .kv_heads = 2,
                          .head_dim = 32,
                          .rope = {.theta = 10000}}> {};

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto model = cke::Model<Tiny, cke::BF16>::load(cke::hf(argv[1]));
  auto session = model.session();
  std::size_t pieces = 0;
  for (std::string_view piece : session.generate("Once upon a time", {.max_tokens = 16})) {
    std::cout << piece;
    ++pieces;
  }
  std::cout << '\n';
  return pieces == 0;
}

// SPDX-License-Identifier: MIT
// unrolled.cpp DIR PROMPT: a small model as straight-line code: every layer, shape and offset is a constant in it.
// DIR holds weights of these shapes, as assets/tiny does. The text is the one that the same type without
// cke::unrolled gives, bit by bit.
#include <cke/hf.hpp>
#include <cke/qwen3.hpp>
#include <cke/unrolled.hpp>

#include <iostream>

struct tiny : cke::qwen3<{.vocab = 1536,
                          .dim = 128,
                          .hidden = 384,
                          .layers = 5,
                          .heads = 4,
                          .kv_heads = 2,
                          .head_dim = 32,
                          .rope = {.theta = 1e4}}> {};
using small_model = cke::Model<tiny, cke::Q8_0, cke::dtype::bf16, cke::isa::native, cke::unrolled>;

int main(int argc, char** argv) try {
  if (argc != 3) return std::cerr << "usage: unrolled DIR PROMPT\n", 2;
  const auto model = small_model::load(cke::hf(argv[1]));
  auto session = model.session();
  for (const std::string_view piece : session.generate(argv[2], {.max_tokens = 60})) std::cout << piece << std::flush;
  std::cout << '\n';
} catch (const cke::Error& e) { return std::cerr << "unrolled: " << e.what() << '\n', 1; }

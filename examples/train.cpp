// SPDX-License-Identifier: MIT
// train.cpp: teaches a model a sentence, id by id: train DIR, such as assets/tiny.
#include <cke/hf.hpp>
#include <cke/qwen3.hpp>
#include <cke/trainer.hpp>

#include <cstdio>
#include <vector>

// The type of assets/tiny; cke build MODEL --print-unit prints that of any checkpoint.
using tiny = cke::qwen3<{.vocab = 1536,
                         .dim = 128,
                         .hidden = 384,
                         .layers = 5,
                         .heads = 4,
                         .kv_heads = 2,
                         .head_dim = 32,
                         .rope = {.dims = 32, .theta = 1e4, .max_position = 2048}}>;

int main(int argc, char** argv) try {
  const cke::checkpoint from = cke::hf(argc > 1 ? argv[1] : "assets/tiny");
  const std::vector<cke::u32> ids = cke::tokenizer(from.tokens, from.name).encode("The compiler is a patient teacher.");
  std::vector<cke::u32> targets(ids.begin() + 1, ids.end());
  targets.push_back(cke::no_target);
  const cke::example sentence{ids, targets};

  cke::trainer<tiny> trainer(from, {.context = 64});
  for (int step = 1; step <= 10; ++step) {
    const double loss = trainer.add_gradients({&sentence, 1});
    const double norm = trainer.step({.lr = 1e-3f});
    std::printf("step %2d  loss %.3f  norm of the gradient %.2f\n", step, loss, norm);
  }
} catch (const cke::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}

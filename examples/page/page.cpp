// SPDX-License-Identifier: MIT
// page.cpp: the model in assets/tiny as a web page; ./dev wasm makes it.
#include <cke/page.hpp>
#include <cke/qwen3.hpp>

struct tiny : cke::qwen3<{.vocab = 1536,
                          .dim = 128,
                          .hidden = 384,
                          .layers = 5,
                          .heads = 4,
                          .kv_heads = 2,
                          .head_dim = 32,
                          .rope = {.theta = 1e4}}> {};
using model = cke::Model<tiny, cke::Q8_0>;

CKE_PAGE(model, cke::text::contracts::qwen3)

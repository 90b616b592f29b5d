// SPDX-License-Identifier: MIT
// phi3.hpp: Phi-3 and Phi-4: llama in fused matrices, with longrope and a window; in some, only a part of a head is
// rotated.
#pragma once

#include "card.hpp"
// clang-format off
namespace cke {

struct phi3_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads, head_dim{}, window = everything;  // head_dim 0: dim / heads
  real eps = 1e-5;
  bool tied{};
  rotary rope{.theta = 1e4};
};

constexpr attention_options phi3_attend(const phi3_config& c) {
  const u32 head_dim = c.head_dim ? c.head_dim : c.dim / c.heads;
  rotary rope = c.rope;
  rope.dims = rope.dims ? rope.dims : head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = head_dim, .rope = rope,
          .window = c.window};
}

template <phi3_config C> struct phi3 : network<
    embedding<C.vocab, C.dim>,
    stack<C.layers, block<
        residual<rms_norm<C.dim, C.eps>, attention<phi3_attend(C)>>,
        residual<rms_norm<C.dim, C.eps>, gated_mlp<C.dim, C.hidden, activation::silu>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"phi3">;
  static constexpr phi3_config config = C;
};

struct Phi_3_mini_4k : phi3<phi3_config{
    .vocab = 32064, .dim = 3072, .hidden = 8192, .layers = 32, .heads = 32, .kv_heads = 32, .window = 2047}> {};
struct Phi_4 : phi3<phi3_config{
    .vocab = 100352, .dim = 5120, .hidden = 17920, .layers = 40, .heads = 40, .kv_heads = 10,
    .rope = {.theta = 2.5e5}}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/phi3.hpp"
#endif

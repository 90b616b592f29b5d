// SPDX-License-Identifier: MIT
// gemma2.hpp: Gemma 2: sliding and full layers in turn, a norm on both sides of every branch, capped scores and logits.
#pragma once

#include "card.hpp"
// clang-format off
namespace cke {

struct gemma2_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads, head_dim = 256, window = 4096;
  layer_set sliding = layer_set::all_but_every(2);
  real eps = 1e-6, query_scalar = 256, score_cap = 50, logit_cap = 30;
  bool tied = true;
  rotary rope{.theta = 1e4};
};

constexpr attention_options gemma2_attend(const gemma2_config& c, bool slides) {
  rotary rope = c.rope;
  rope.dims = c.head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = c.head_dim, .rope = rope,
          .window = slides ? c.window : everything, .scale = 1 / root(c.query_scalar.v), .cap = c.score_cap};
}

template <gemma2_config C, bool Slides> using gemma2_layer = block<
    residual<rms_norm<C.dim, C.eps, 1>, attention<gemma2_attend(C, Slides)>, rms_norm<C.dim, C.eps, 1>>,
    residual<rms_norm<C.dim, C.eps, 1>, gated_mlp<C.dim, C.hidden, activation::gelu_tanh>, rms_norm<C.dim, C.eps, 1>>>;

template <gemma2_config C> struct gemma2 : network<
    embedding<C.vocab, C.dim>,
    scale<C.dim, root(C.dim)>,
    arrange<order_of<C.layers>(C.sliding), gemma2_layer<C, false>, gemma2_layer<C, true>>,
    rms_norm<C.dim, C.eps, 1>,
    head<C.dim, C.vocab, C.tied>,
    softcap<C.vocab, C.logit_cap>> {
  using family = cke::family<"gemma2">;
  static constexpr gemma2_config config = C;
};

struct Gemma_2_2B : gemma2<gemma2_config{
    .vocab = 256000, .dim = 2304, .hidden = 9216, .layers = 26, .heads = 8, .kv_heads = 4}> {};
struct Gemma_2_9B : gemma2<gemma2_config{
    .vocab = 256000, .dim = 3584, .hidden = 14336, .layers = 42, .heads = 16, .kv_heads = 8}> {};
struct Gemma_2_27B : gemma2<gemma2_config{
    .vocab = 256000, .dim = 4608, .hidden = 36864, .layers = 46, .heads = 32, .kv_heads = 16, .head_dim = 128,
    .query_scalar = 144}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/gemma2.hpp"
#endif

// SPDX-License-Identifier: MIT
// smollm3.hpp: SmolLM3: llama in which every fourth layer has no rope.
#pragma once

#include "card.hpp"
// clang-format off
namespace cke {

struct smollm3_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads, head_dim{};  // head_dim 0: dim / heads
  layer_set turned = layer_set::all_but_every(4);               // layers with rope
  real eps = 1e-6;
  bool tied = true, attention_bias{}, mlp_bias{};
  rotary rope{.theta = 5e6};
};

constexpr attention_options smollm3_attend(const smollm3_config& c, bool turned) {
  const u32 head_dim = c.head_dim ? c.head_dim : c.dim / c.heads;
  rotary rope = c.rope;
  rope.dims = head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = head_dim, .rope = turned ? rope
          : rotary{},
          .qkv_bias = c.attention_bias, .out_bias = c.attention_bias};
}

template <smollm3_config C, bool Turned> using smollm3_layer = block<
    residual<rms_norm<C.dim, C.eps>, attention<smollm3_attend(C, Turned)>>,
    residual<rms_norm<C.dim, C.eps>, gated_mlp<C.dim, C.hidden, activation::silu, C.mlp_bias>>>;

template <smollm3_config C> struct smollm3 : network<
    embedding<C.vocab, C.dim>,
    arrange<order_of<C.layers>(C.turned), smollm3_layer<C, false>, smollm3_layer<C, true>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"smollm3">;
  static constexpr smollm3_config config = C;
};

struct SmolLM3_3B : smollm3<smollm3_config{
    .vocab = 128256, .dim = 2048, .hidden = 11008, .layers = 36, .heads = 16, .kv_heads = 4}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/smollm3.hpp"
#endif

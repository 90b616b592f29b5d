// SPDX-License-Identifier: MIT
// granite.hpp: Granite (dense): llama with four multipliers: of embeddings, scores, branches and logits.
#pragma once

#include "card.hpp"
// clang-format off
namespace cke {

struct granite_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads, head_dim{};  // head_dim 0: dim / heads
  real embedding_multiplier = 12, attention_multiplier = 0.015625, residual_multiplier = 0.22, logits_scaling = 8;
  real eps = 1e-5;
  bool tied = true, attention_bias{}, mlp_bias{};
  rotary rope{.theta = 1e7};
};

// A mixture of experts uses this too.
constexpr attention_options granite_attend(const auto& c) {
  const u32 head_dim = c.head_dim ? c.head_dim : c.dim / c.heads;
  rotary rope = c.rope;
  rope.dims = head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = head_dim, .rope = rope,
          .scale = c.attention_multiplier, .qkv_bias = c.attention_bias, .out_bias = c.attention_bias};
}

template <granite_config C> struct granite : network<
    embedding<C.vocab, C.dim>,
    scale<C.dim, C.embedding_multiplier>,
    stack<C.layers, block<
        residual<rms_norm<C.dim, C.eps>, attention<granite_attend(C)>, scale<C.dim, C.residual_multiplier>>,
        residual<rms_norm<C.dim, C.eps>, gated_mlp<C.dim, C.hidden, activation::silu, C.mlp_bias>, scale<C.dim,
            C.residual_multiplier>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>,
    scale<C.vocab, 1 / C.logits_scaling.v>> {
  using family = cke::family<"granite">;
  static constexpr granite_config config = C;
};

struct Granite_3_3_2B : granite<granite_config{
    .vocab = 49159, .dim = 2048, .hidden = 8192, .layers = 40, .heads = 32, .kv_heads = 8}> {};
struct Granite_3_3_8B : granite<granite_config{
    .vocab = 49159, .dim = 4096, .hidden = 12800, .layers = 40, .heads = 32, .kv_heads = 8,
    .attention_multiplier = 0.0078125, .logits_scaling = 16}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/granite.hpp"
#endif

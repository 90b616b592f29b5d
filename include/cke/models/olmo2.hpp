// SPDX-License-Identifier: MIT
// olmo2.hpp: OLMo 2: norms after each branch, none before; q and k are normed over all heads together.
#pragma once

#include "card.hpp"
// clang-format off
namespace cke {

struct olmo2_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads, head_dim{};  // head_dim 0: dim / heads
  real eps = 1e-6;
  bool tied{}, attention_bias{};
  rotary rope{.theta = 5e5};
};

constexpr attention_options olmo2_attend(const olmo2_config& c) {
  const u32 head_dim = c.head_dim ? c.head_dim : c.dim / c.heads;
  rotary rope = c.rope;
  rope.dims = head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = head_dim, .rope = rope,
          .qk_norm = {.eps = c.eps, .together = true}, .qkv_bias = c.attention_bias, .out_bias = c.attention_bias};
}

template <olmo2_config C> struct olmo2 : network<
    embedding<C.vocab, C.dim>,
    stack<C.layers, block<
        residual<attention<olmo2_attend(C)>, rms_norm<C.dim, C.eps>>,
        residual<gated_mlp<C.dim, C.hidden, activation::silu>, rms_norm<C.dim, C.eps>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"olmo2">;
  static constexpr olmo2_config config = C;
};

struct OLMo_2_1B : olmo2<olmo2_config{
    .vocab = 100352, .dim = 2048, .hidden = 8192, .layers = 16, .heads = 16, .kv_heads = 16}> {};
struct OLMo_2_7B : olmo2<olmo2_config{
    .vocab = 100352, .dim = 4096, .hidden = 11008, .layers = 32, .heads = 32, .kv_heads = 32}> {};
struct OLMo_2_13B : olmo2<olmo2_config{
    .vocab = 100352, .dim = 5120, .hidden = 13824, .layers = 40, .heads = 40, .kv_heads = 40}> {};
struct OLMo_2_32B : olmo2<olmo2_config{
    .vocab = 100352, .dim = 5120, .hidden = 27648, .layers = 64, .heads = 40, .kv_heads = 8}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/olmo2.hpp"
#endif

// SPDX-License-Identifier: MIT
// olmoe.hpp: OLMoE: a norm on all of q and all of k; softmax-routed experts whose weights stay as they are.
#pragma once

#include "card.hpp"
// clang-format off
namespace cke {

struct olmoe_config {
  // head_dim 0: dim / heads
  u32 vocab, dim, expert_hidden, layers, heads, kv_heads, head_dim{}, experts = 64, active = 8;
  bool renormalise{};
  real eps = 1e-5;
  bool tied{}, attention_bias{};
  rotary rope{.theta = 1e4};
};

constexpr attention_options olmoe_attend(const olmoe_config& c) {
  const u32 head_dim = c.head_dim ? c.head_dim : c.dim / c.heads;
  rotary rope = c.rope;
  rope.dims = head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = head_dim, .rope = rope,
          .qk_norm = {c.eps, 0, true}, .qkv_bias = c.attention_bias, .out_bias = c.attention_bias};
}

template <olmoe_config C> struct olmoe : network<
    embedding<C.vocab, C.dim>,
    stack<C.layers, block<
        residual<rms_norm<C.dim, C.eps>, attention<olmoe_attend(C)>>,
        residual<rms_norm<C.dim, C.eps>, moe<moe_options{.dim = C.dim, .hidden = C.expert_hidden, .route = {
            .experts = C.experts, .active = C.active, .renormalise = C.renormalise}}>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"olmoe">;
  static constexpr olmoe_config config = C;
};

struct OLMoE_1B_7B : olmoe<olmoe_config{
    .vocab = 50304, .dim = 2048, .expert_hidden = 1024, .layers = 16, .heads = 16, .kv_heads = 16}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/olmoe.hpp"
#endif

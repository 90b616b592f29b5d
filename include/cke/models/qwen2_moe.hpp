// SPDX-License-Identifier: MIT
// qwen2_moe.hpp: Qwen2 with experts, one of them shared and gated.
#pragma once

#include "card.hpp"
// clang-format off
namespace cke {

struct qwen2_moe_config {
  // head_dim 0: dim / heads
  u32 vocab, dim, expert_hidden, shared_hidden, layers, heads, kv_heads, head_dim{}, experts = 60, active = 4;
  bool renormalise{};
  real eps = 1e-6;
  bool tied{}, attention_bias = true;
  rotary rope{.theta = 1e6};
};

constexpr attention_options qwen2_moe_attend(const qwen2_moe_config& c) {
  const u32 head_dim = c.head_dim ? c.head_dim : c.dim / c.heads;
  rotary rope = c.rope;
  rope.dims = head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = head_dim, .rope = rope,
          .qkv_bias = c.attention_bias};
}

template <qwen2_moe_config C> struct qwen2_moe : network<
    embedding<C.vocab, C.dim>,
    stack<C.layers, block<
        residual<rms_norm<C.dim, C.eps>, attention<qwen2_moe_attend(C)>>,
        residual<rms_norm<C.dim, C.eps>, moe<moe_options{
            .dim = C.dim, .hidden = C.expert_hidden,
            .route = {.experts = C.experts, .active = C.active, .renormalise = C.renormalise},
            .shared = C.shared_hidden, .shared_gate = true}>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"qwen2_moe">;
  static constexpr qwen2_moe_config config = C;
};

struct Qwen1_5_MoE_A2_7B : qwen2_moe<qwen2_moe_config{
    .vocab = 151936, .dim = 2048, .expert_hidden = 1408, .shared_hidden = 5632, .layers = 24, .heads = 16,
    .kv_heads = 16}> {};
struct Qwen2_57B_A14B : qwen2_moe<qwen2_moe_config{
    .vocab = 151936, .dim = 3584, .expert_hidden = 2560, .shared_hidden = 20480, .layers = 28, .heads = 28,
    .kv_heads = 4, .experts = 64, .active = 8}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/qwen2_moe.hpp"
#endif

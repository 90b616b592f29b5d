// SPDX-License-Identifier: MIT
// qwen3_moe.hpp: Qwen3 with experts: every mlp is a softmax-routed mixture of them.
#pragma once

#include "qwen3.hpp"
// clang-format off
namespace cke {

struct qwen3_moe_config {
  u32 vocab, dim, expert_hidden, layers, heads, kv_heads, head_dim = 128, experts = 128, active = 8;
  bool renormalise = true;
  real eps = 1e-6;
  bool tied{}, attention_bias{};
  rotary rope{.theta = 1e6};
};

template <qwen3_moe_config C> struct qwen3_moe : network<
    embedding<C.vocab, C.dim>,
    stack<C.layers, block<
        residual<rms_norm<C.dim, C.eps>, attention<qwen3_attend(C)>>,
        residual<rms_norm<C.dim, C.eps>, moe<moe_options{.dim = C.dim, .hidden = C.expert_hidden, .route = {
            .experts = C.experts, .active = C.active, .renormalise = C.renormalise}}>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"qwen3_moe">;
  static constexpr qwen3_moe_config config = C;
};

struct Qwen3_30B_A3B : qwen3_moe<qwen3_moe_config{
    .vocab = 151936, .dim = 2048, .expert_hidden = 768, .layers = 48, .heads = 32, .kv_heads = 4}> {};
struct Qwen3_235B_A22B : qwen3_moe<qwen3_moe_config{
    .vocab = 151936, .dim = 4096, .expert_hidden = 1536, .layers = 94, .heads = 64, .kv_heads = 4}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/qwen3_moe.hpp"
#endif

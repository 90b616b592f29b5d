// SPDX-License-Identifier: MIT
// granitemoe.hpp: Granite with experts: the four multipliers, and a softmax over the chosen experts alone.
#pragma once

#include "granite.hpp"
// clang-format off
namespace cke {

struct granitemoe_config {
  // head_dim 0: dim / heads
  u32 vocab, dim, expert_hidden, layers, heads, kv_heads, head_dim{}, experts = 32, active = 8;
  real embedding_multiplier = 12, attention_multiplier = 0.015625, residual_multiplier = 0.22, logits_scaling = 6;
  real eps = 1e-6;
  bool tied = true, attention_bias{};
  rotary rope{.theta = 1e4};
};

template <granitemoe_config C> struct granitemoe : network<
    embedding<C.vocab, C.dim>,
    scale<C.dim, C.embedding_multiplier>,
    stack<C.layers, block<
        residual<rms_norm<C.dim, C.eps>, attention<granite_attend(C)>, scale<C.dim, C.residual_multiplier>>,
        residual<rms_norm<C.dim, C.eps>, moe<moe_options{.dim = C.dim, .hidden = C.expert_hidden, .route = {
            .experts = C.experts, .active = C.active, .score = scoring::softmax_of_chosen}}>, scale<C.dim,
            C.residual_multiplier>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>,
    scale<C.vocab, 1 / C.logits_scaling.v>> {
  using family = cke::family<"granitemoe">;
  static constexpr granitemoe_config config = C;
};

struct Granite_3_0_1B_A400M : granitemoe<granitemoe_config{
    .vocab = 49155, .dim = 1024, .expert_hidden = 512, .layers = 24, .heads = 16, .kv_heads = 8}> {};
struct Granite_3_0_3B_A800M : granitemoe<granitemoe_config{
    .vocab = 49155, .dim = 1536, .expert_hidden = 512, .layers = 32, .heads = 24, .kv_heads = 8, .experts = 40}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/granitemoe.hpp"
#endif

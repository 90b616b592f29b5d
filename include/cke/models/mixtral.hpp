// SPDX-License-Identifier: MIT
// mixtral.hpp: Mixtral: llama whose every mlp is eight experts, two for each token.
#pragma once

#include "card.hpp"
// clang-format off
namespace cke {

struct mixtral_config {
  // head_dim 0: dim / heads
  u32 vocab, dim, expert_hidden, layers, heads, kv_heads, head_dim{}, experts = 8, active = 2;
  real eps = 1e-5;
  bool tied{};
  rotary rope{.theta = 1e6};
};

constexpr attention_options mixtral_attend(const mixtral_config& c) {
  const u32 head_dim = c.head_dim ? c.head_dim : c.dim / c.heads;
  rotary rope = c.rope;
  rope.dims = head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = head_dim, .rope = rope};
}

template <mixtral_config C> struct mixtral : network<
    embedding<C.vocab, C.dim>,
    stack<C.layers, block<
        residual<rms_norm<C.dim, C.eps>, attention<mixtral_attend(C)>>,
        residual<rms_norm<C.dim, C.eps>, moe<moe_options{.dim = C.dim, .hidden = C.expert_hidden, .route = {
            .experts = C.experts, .active = C.active, .renormalise = true}}>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"mixtral">;
  static constexpr mixtral_config config = C;
};

struct Mixtral_8x7B : mixtral<mixtral_config{
    .vocab = 32000, .dim = 4096, .expert_hidden = 14336, .layers = 32, .heads = 32, .kv_heads = 8}> {};
struct Mixtral_8x22B : mixtral<mixtral_config{
    .vocab = 32768, .dim = 6144, .expert_hidden = 16384, .layers = 56, .heads = 48, .kv_heads = 8}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/mixtral.hpp"
#endif

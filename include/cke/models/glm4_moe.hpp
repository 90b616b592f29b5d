// SPDX-License-Identifier: MIT
// glm4_moe.hpp: GLM-4.5: dense layers first, then experts chosen by sigmoid scores, with a shared one beside them.
#pragma once

#include "card.hpp"
// clang-format off
namespace cke {

struct glm4_moe_config {
  u32 vocab, dim, hidden, expert_hidden, layers, heads, kv_heads, head_dim = 128, experts = 128, active = 8, shared = 1;
  u32 groups = 1, groups_kept = 1, dense_layers = 1;
  real weights_scale = 1;
  bool renormalise = true, qk_norm{};
  real eps = 1e-5;
  bool tied{}, attention_bias = true;  // of q, k and v
  rotary rope{.theta = 1e6};           // dims 0: half of head_dim
};

constexpr attention_options glm4_moe_attend(const glm4_moe_config& c) {
  rotary rope = c.rope;
  rope.dims = rope.dims ? rope.dims : c.head_dim / 2;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = c.head_dim, .rope = rope,
          .qk_norm = {c.qk_norm ? c.eps : real{}}, .qkv_bias = c.attention_bias};
}

template <glm4_moe_config C, class Mlp> using glm4_moe_layer = block<
    residual<rms_norm<C.dim, C.eps>, attention<glm4_moe_attend(C)>>,
    residual<rms_norm<C.dim, C.eps>, Mlp>>;

template <glm4_moe_config C> struct glm4_moe : network<
    embedding<C.vocab, C.dim>,
    arrange<order_of<C.layers>(layer_set::up_to(C.dense_layers)),
        glm4_moe_layer<C, moe<moe_options{
            .dim = C.dim, .hidden = C.expert_hidden,
            .route = {.experts = C.experts, .active = C.active, .score = scoring::sigmoid, .bias = true,
            .groups = C.groups,
                      .groups_kept = C.groups_kept, .group_by = group_score::best_two, .renormalise = C.renormalise,
                      .scale = C.weights_scale},
            .shared = C.shared * C.expert_hidden}>>,
        glm4_moe_layer<C, gated_mlp<C.dim, C.hidden, activation::silu>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"glm4_moe">;
  static constexpr glm4_moe_config config = C;
};

struct GLM_4_5_Air : glm4_moe<glm4_moe_config{
    .vocab = 151552, .dim = 4096, .hidden = 10944, .expert_hidden = 1408, .layers = 46, .heads = 96,
    .kv_heads = 8}> {};
struct GLM_4_5 : glm4_moe<glm4_moe_config{
    .vocab = 151552, .dim = 5120, .hidden = 12288, .expert_hidden = 1536, .layers = 92, .heads = 96, .kv_heads = 8,
    .experts = 160, .dense_layers = 3, .weights_scale = 2.5, .qk_norm = true}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/glm4_moe.hpp"
#endif

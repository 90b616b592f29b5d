// SPDX-License-Identifier: MIT
// nemotron_h.hpp: Nemotron-H and Nemotron 3: each layer is one thing: a mamba2 mixer, attention without a rope, an mlp
// of relu^2, or experts.
#pragma once

#include "mamba2.hpp"
// clang-format off
namespace cke {

struct nemotron_h_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads = 8, head_dim = 128;
  u32 experts = 8, active = 2, expert_hidden = 7688, shared_hidden = 7688, latent{}, groups = 1, groups_kept = 1;
  real weights_scale = 1;
  bool renormalise = true;
  u32 ssm_heads = 128, ssm_head_dim = 64, state = 128, ssm_groups = 8, taps = 4;
  // layers that attend, layers with an mlp or experts, layers with experts; the others are mixers
  layer_set attends{}, feeds{}, sparse{};
  real eps = 1e-5, least_step{}, most_step = 1e300;
  bool conv_bias = true, bias{}, mlp_bias{}, tied{};
  rotary rope{.theta = 1e4};  // rotates nothing
};

template <nemotron_h_config C> constexpr std::array<u8, C.layers> nemotron_h_order() {
  std::array<u8, C.layers> order{};
  for (u32 i = 0; i < C.layers; ++i) order[i] = C.attends.has(i) ? 1 : C.sparse.has(i) ? 3 : C.feeds.has(i) ? 2 : 0;
  return order;
}
constexpr mamba_options nemotron_h_space(const nemotron_h_config& c) {
  return {.dim = c.dim, .heads = c.ssm_heads, .head_dim = c.ssm_head_dim, .state = c.state, .groups = c.ssm_groups,
          .taps = c.taps, .eps = c.eps,
          .least_step = c.least_step, .most_step = c.most_step, .conv_bias = c.conv_bias, .bias = c.bias};
}
constexpr moe_options nemotron_h_experts(const nemotron_h_config& c) {
  return {.dim = c.dim, .hidden = c.expert_hidden,
          .route = {.experts = c.experts, .active = c.active, .score = scoring::sigmoid, .bias = true,
          .groups = c.groups, .groups_kept = c.groups_kept,
                    .group_by = group_score::best_two, .renormalise = c.renormalise, .scale = c.weights_scale},
          .act = activation::relu2, .ungated = true, .shared = c.shared_hidden, .latent = c.latent, .bias = c.mlp_bias};
}
template <nemotron_h_config C, class Mixer> using nemotron_h_layer = block<residual<rms_norm<C.dim, C.eps>, Mixer>>;

template <nemotron_h_config C> struct nemotron_h : network<
    embedding<C.vocab, C.dim>,
    arrange<nemotron_h_order<C>(),
        nemotron_h_layer<C, mamba_mixer<nemotron_h_space(C)>>,
        nemotron_h_layer<C, attention<attention_options{.dim = C.dim, .heads = C.heads, .kv_heads = C.kv_heads,
            .head_dim = C.head_dim}>>,
        nemotron_h_layer<C, plain_mlp<C.dim, C.hidden, activation::relu2, C.mlp_bias>>,
        nemotron_h_layer<C, moe<nemotron_h_experts(C)>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"nemotron_h">;
  static constexpr nemotron_h_config config = C;
};

// 4 of 52 layers attend; between them mixers and mlps take turns.
inline constexpr layer_set nemotron_h_attends = layer_set::of({7, 18, 29, 40});
inline constexpr layer_set nemotron_h_feeds = layer_set::of({1, 3, 5, 8, 10, 12, 14, 16, 19, 21, 23, 25, 27, 30, 32,
    34, 36, 38, 41, 43, 45, 47, 49, 51});
struct Nemotron_H_4B : nemotron_h<nemotron_h_config{
    .vocab = 131072, .dim = 3072, .hidden = 12288, .layers = 52, .heads = 32, .ssm_heads = 112,
    .attends = nemotron_h_attends, .feeds = nemotron_h_feeds}> {};
struct Nemotron_H_8B : nemotron_h<nemotron_h_config{
    .vocab = 131072, .dim = 4096, .hidden = 21504, .layers = 52, .heads = 32, .attends = nemotron_h_attends,
    .feeds = nemotron_h_feeds}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/nemotron_h.hpp"
#endif

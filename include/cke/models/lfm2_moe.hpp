// SPDX-License-Identifier: MIT
// lfm2_moe.hpp: LFM2 with experts: dense layers first, then experts chosen by sigmoid scores and a bias.
#pragma once

#include "lfm2.hpp"
// clang-format off
namespace cke {

struct lfm2_moe_config {
  u32 vocab, dim, hidden, expert_hidden, layers, heads, kv_heads = 8, head_dim{}, taps = 3;
  layer_set attends = layer_set::up_to(layer_set::most);
  u32 experts = 32, active = 4, dense_layers = 2;
  bool expert_bias = true, renormalise = true;
  real weights_scale = 1, eps = 1e-5;
  bool tied = true, conv_bias{};
  rotary rope{.theta = 1e6};
};

template <lfm2_moe_config C> inline constexpr moe_options lfm2_experts{
    .dim = C.dim, .hidden = C.expert_hidden,
    .route = {.experts = C.experts, .active = C.active, .score = scoring::sigmoid, .bias = C.expert_bias,
              .renormalise = C.renormalise, .floor = 1e-6, .scale = C.weights_scale}};

template <lfm2_moe_config C> constexpr std::array<u8, C.layers> lfm2_moe_order() {
  std::array<u8, C.layers> order{};
  for (u32 i = 0; i < C.layers; ++i) order[i] = static_cast<u8>((i < C.dense_layers ? 0 : 2) + C.attends.has(i));
  return order;
}

template <lfm2_moe_config C, class Dense = gated_mlp<C.dim, C.hidden, activation::silu>,
    class Experts = moe<lfm2_experts<C>>>
struct lfm2_moe : network<
    embedding<C.vocab, C.dim>,
    arrange<lfm2_moe_order<C>(),
        lfm2_layer<C, lfm2_conv<C>, Dense>, lfm2_layer<C, attention<lfm2_attend(C)>, Dense>,
        lfm2_layer<C, lfm2_conv<C>, Experts>, lfm2_layer<C, attention<lfm2_attend(C)>, Experts>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"lfm2_moe">;
  static constexpr lfm2_moe_config config = C;
};

struct LFM2_8B_A1B : lfm2_moe<lfm2_moe_config{
    .vocab = 65536, .dim = 2048, .hidden = 7168, .expert_hidden = 1792, .layers = 24, .heads = 32,
    .attends = layer_set::of({2, 6, 10, 14, 18, 21})}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/lfm2_moe.hpp"
#endif

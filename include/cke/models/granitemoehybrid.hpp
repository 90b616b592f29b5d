// SPDX-License-Identifier: MIT
// granitemoehybrid.hpp: Granite 4: Granite's multipliers; most layers are mamba2 mixers, a few attend, and mlps come
// with experts or alone.
#pragma once

#include "granitemoe.hpp"
#include "mamba2.hpp"
// clang-format off
namespace cke {

struct granitemoehybrid_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads, head_dim{};  // hidden: of the mlp; head_dim 0: dim / heads
  u32 experts{}, active{}, expert_hidden{};
  u32 ssm_heads, ssm_head_dim{}, state = 128, ssm_groups = 1, taps = 4;  // ssm_head_dim 0: 2 dim / ssm_heads
  layer_set attends{};
  real embedding_multiplier = 12, attention_multiplier = 0.015625, residual_multiplier = 0.22, logits_scaling = 8;
  real eps = 1e-5, least_step{}, most_step = 1e300;
  bool conv_bias = true, bias{}, tied = true, attention_bias{};
  layer_set turned{};
  rotary rope{.theta = 1e4};
};

constexpr attention_options granitemoehybrid_attend(const granitemoehybrid_config& c) {
  attention_options a = granite_attend(c);
  if (!c.turned.has(0)) a.rope = {};
  return a;
}
constexpr mamba_options granitemoehybrid_space(const granitemoehybrid_config& c) {
  return {.dim = c.dim, .heads = c.ssm_heads, .head_dim = c.ssm_head_dim ? c.ssm_head_dim : 2 * c.dim / c.ssm_heads,
          .state = c.state, .groups = c.ssm_groups,
          .taps = c.taps, .eps = c.eps, .least_step = c.least_step, .most_step = c.most_step,
          .conv_bias = c.conv_bias, .bias = c.bias};
}

template <granitemoehybrid_config C> using granitemoehybrid_mlp = std::conditional_t<C.experts == 0,
    gated_mlp<C.dim, C.hidden, activation::silu>,
    moe<moe_options{.dim = C.dim, .hidden = C.expert_hidden, .route = {.experts = C.experts, .active = C.active,
        .score = scoring::softmax_of_chosen},
                .shared = C.hidden}>>;
template <granitemoehybrid_config C, class Mixer> using granitemoehybrid_layer = block<
    residual<rms_norm<C.dim, C.eps>, Mixer, scale<C.dim, C.residual_multiplier>>,
    residual<rms_norm<C.dim, C.eps>, granitemoehybrid_mlp<C>, scale<C.dim, C.residual_multiplier>>>;

template <granitemoehybrid_config C> struct granitemoehybrid : network<
    embedding<C.vocab, C.dim>,
    scale<C.dim, C.embedding_multiplier>,
    arrange<order_of<C.layers>(C.attends),
        granitemoehybrid_layer<C, mamba_mixer<granitemoehybrid_space(C)>>, granitemoehybrid_layer<C,
            attention<granitemoehybrid_attend(C)>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>,
    scale<C.vocab, 1 / C.logits_scaling.v>> {
  using family = cke::family<"granitemoehybrid">;
  static constexpr granitemoehybrid_config config = C;
};

struct Granite_4_0_H_350M : granitemoehybrid<granitemoehybrid_config{
    .vocab = 100352, .dim = 768, .hidden = 2048, .layers = 32, .heads = 12, .kv_heads = 4, .ssm_heads = 48,
    .ssm_head_dim = 32, .attends = layer_set::of({10, 13, 17, 27}), .residual_multiplier = 0.246,
    .logits_scaling = 3}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/granitemoehybrid.hpp"
#endif

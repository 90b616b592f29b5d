// SPDX-License-Identifier: MIT
// expert_model.hpp: models with mixtures of experts, in odd shapes.
#pragma once

#include "random_model.hpp"

namespace random_model {

template <router R> using expert_layer = block<
    residual<rms_norm<96, 1e-6>, attention<attend{.dim = 96, .heads = 3, .kv_heads = 3, .head_dim = 32,
                                                  .rope = {.dims = 32, .theta = 1e4}}>>,
    residual<rms_norm<96, 1e-6>, moe<cke::experts{.dim = 96, .hidden = 64, .route = R}>>>;

// A layer for each way of choosing.
struct with_experts : model<
    embedding<131, 96>,
    stack<2, expert_layer<router{.experts = 7, .active = 3, .renormalise = true}>,
             expert_layer<router{.experts = 12, .active = 5, .score = scoring::sigmoid, .bias = true, .groups = 4, .groups_kept = 2,
                                 .group_by = group_score::best_two, .renormalise = true, .scale = 2.5}>>,
    rms_norm<96, 1e-6>,
    head<96, 131, false>> {
  static constexpr auto names = expert_names + std::array{
      name_rule{place::body, role::router_bias, 0, "=model.layers.{}.mlp.gate.e_score_correction_bias", "=blk.{}.exp_probs_b.bias"}};
};

}  // namespace random_model

// SPDX-License-Identifier: MIT
// expert_model.hpp: models with mixtures of experts, in odd shapes.
#pragma once

#include "random_model.hpp"

namespace random_model {

template <cke::experts S> using expert_layer = block<
    residual<rms_norm<96, 1e-6>, attention<attend{.dim = 96, .heads = 3, .kv_heads = 3, .head_dim = 32,
                                                  .rope = {.dims = 32, .theta = 1e4}}>>,
    residual<rms_norm<96, 1e-6>, moe<S>>>;

// Layers that choose in different ways; without, with and with a gated shared expert.
struct with_experts : model<
    embedding<131, 96>,
    stack<3, expert_layer<experts{.dim = 96, .hidden = 64, .route = {.experts = 7, .active = 3, .renormalise = true}}>,
             expert_layer<experts{.dim = 96, .hidden = 64, .route = {
                 .experts = 12, .active = 5, .score = scoring::sigmoid, .bias = true, .groups = 4, .groups_kept = 2,
                 .group_by = group_score::best_two, .renormalise = true, .scale = 2.5}, .shared = 128}>,
             expert_layer<experts{.dim = 96, .hidden = 32, .route = {.experts = 5, .active = 2, .score = scoring::softmax_of_chosen},
                                  .act = activation::gelu_tanh, .shared = 160, .shared_gate = true}>>,
    rms_norm<96, 1e-6>,
    head<96, 131, false>> {
  static constexpr auto names = expert_names;
};

}  // namespace random_model

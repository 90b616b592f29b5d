// SPDX-License-Identifier: MIT
// expert_model.hpp: models with mixtures of experts, in odd shapes.
#pragma once

#include "random_model.hpp"

namespace random_model {

template <cke::moe_options S> using expert_layer =
    block<residual<rms_norm<96, 1e-6>,
                   attention<attention_options{
                       .dim = 96, .heads = 3, .kv_heads = 3, .head_dim = 32, .rope = {.dims = 32, .theta = 1e4}}>>,
          residual<rms_norm<96, 1e-6>, moe<S>>>;

// Layers that choose in different ways; without, with and with a gated shared expert.
struct with_experts
    : network<embedding<131, 96>,
              stack<3,
                    expert_layer<moe_options{
                        .dim = 96, .hidden = 64, .route = {.experts = 7, .active = 3, .renormalise = true}}>,
                    expert_layer<moe_options{.dim = 96,
                                             .hidden = 64,
                                             .route = {.experts = 12,
                                                       .active = 5,
                                                       .score = scoring::sigmoid,
                                                       .bias = true,
                                                       .groups = 4,
                                                       .groups_kept = 2,
                                                       .group_by = group_score::best_two,
                                                       .renormalise = true,
                                                       .scale = 2.5},
                                             .shared = 128}>,
                    expert_layer<moe_options{.dim = 96,
                                             .hidden = 32,
                                             .route = {.experts = 5, .active = 2, .score = scoring::softmax_of_chosen},
                                             .act = activation::gelu_tanh,
                                             .shared = 160,
                                             .shared_gate = true}>>,
              rms_norm<96, 1e-6>, head<96, 131, false>> {
  static constexpr auto names = expert_names;
};

// Mixtures without gates: beside a shared expert, and in a latent space between matrices with biases; and mlps without.
inline constexpr attention_options small_attend{
    .dim = 96, .heads = 3, .kv_heads = 3, .head_dim = 32, .rope = {.dims = 32, .theta = 1e4}};
template <class Letter> using small_layer =
    block<residual<rms_norm<96, 1e-6>, attention<small_attend>>, residual<rms_norm<96, 1e-6>, Letter>>;
inline constexpr router of_nine{
    .experts = 9, .active = 2, .score = scoring::sigmoid, .bias = true, .renormalise = true, .scale = 2.5};
struct without_gates : network<embedding<67, 96>,
                               stack<4,
                                     small_layer<moe<moe_options{.dim = 96,
                                                                 .hidden = 96,
                                                                 .route = of_nine,
                                                                 .act = activation::relu2,
                                                                 .ungated = true,
                                                                 .shared = 160}>>,
                                     small_layer<plain_mlp<96, 160, activation::relu2>>,
                                     small_layer<moe<moe_options{.dim = 96,
                                                                 .hidden = 64,
                                                                 .route = of_nine,
                                                                 .act = activation::relu2,
                                                                 .ungated = true,
                                                                 .shared = 96,
                                                                 .latent = 64,
                                                                 .bias = true}>>,
                                     small_layer<plain_mlp<96, 96, activation::silu, true>>>,
                               rms_norm<96, 1e-6>, head<96, 67, true>> {
  static constexpr auto names = expert_names +
      std::array{name_rule{place::body, role::latent_down, 0, "latent.{}.down", ""},
                 name_rule{place::body, role::latent_up, 0, "latent.{}.up", ""}};
};

}  // namespace random_model

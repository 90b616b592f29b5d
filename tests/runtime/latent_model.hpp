// SPDX-License-Identifier: MIT
// latent_model.hpp: latent attention in odd shapes, beside one of many heads on one key and value.
#pragma once

#include "random_model.hpp"

namespace random_model {

// 10 heads of 36 numbers are slices of 8 and 2 heads, 6 of 48 of 4 and 2; 5 heads of 22 are no whole slices of 16.
struct with_latents
    : network<
          embedding<131, 96>,
          stack<4,
                block<residual<rms_norm<96, 1e-6>,
                               latent_attention<latent_attention_options{
                                   .dim = 96,
                                   .heads = 10,
                                   .q_rank = 0,
                                   .kv_rank = 28,
                                   .nope = 20,
                                   .value = 18,
                                   .rope = {.dims = 8, .theta = 1e4, .pairs = pairing::adjacent},
                                   .scale = 1 / root(28)}>>,
                      residual<rms_norm<96, 1e-6>, gated_mlp<96, 160, activation::silu>>>,
                block<residual<rms_norm<96, 1e-6>,
                               latent_attention<latent_attention_options{
                                   .dim = 96,
                                   .heads = 6,
                                   .q_rank = 44,
                                   .kv_rank = 40,
                                   .nope = 24,
                                   .value = 20,
                                   .rope = {.dims = 8, .theta = 1e4, .pairs = pairing::adjacent},
                                   .scale = 1 / root(32)}>>>,
                block<residual<rms_norm<96, 1e-6>,
                               attention<attention_options{.dim = 96,
                                                           .heads = 5,
                                                           .kv_heads = 1,
                                                           .head_dim = 22,
                                                           .rope = {.dims = 22, .theta = 1e4},
                                                           .window = 75}>>>,
                block<residual<
                    rms_norm<96, 1e-6>,
                    attention<attention_options{
                        .dim = 96, .heads = 7, .kv_heads = 1, .head_dim = 32, .rope = {.dims = 32, .theta = 1e4}}>>>>,
          rms_norm<96, 1e-6>, head<96, 131, false>> {
  static constexpr auto names = common_names +
      std::array{name_rule{place::body, role::q_a, 0, "layers.{}.q_a", "q_a"},
                 name_rule{place::body, role::q_a_norm, 0, "layers.{}.q_a_norm", "q_a_norm"},
                 name_rule{place::body, role::q_b, 0, "layers.{}.q_b", "q_b"},
                 name_rule{place::body, role::kv_a, 0, "layers.{}.kv_a", "kv_a"},
                 name_rule{place::body, role::kv_a_norm, 0, "layers.{}.kv_a_norm", "kv_a_norm"},
                 name_rule{place::body, role::k_b, 0, "layers.{}.k_b", "k_b"},
                 name_rule{place::body, role::v_b, 0, "layers.{}.v_b", "v_b"}};
};

}  // namespace random_model

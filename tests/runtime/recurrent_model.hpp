// SPDX-License-Identifier: MIT
// recurrent_model.hpp: a small model whose layers keep recurrent states, and one that attends between them.
#pragma once

#include "random_model.hpp"

namespace random_model {

template <class Mixer> using mixing_layer =
    block<residual<rms_norm<96, 1e-6>, Mixer>, residual<rms_norm<96, 1e-6>, gated_mlp<96, 64, activation::silu>>>;

inline constexpr attention_options gated_attend{.dim = 96,
                                                .heads = 6,
                                                .kv_heads = 2,
                                                .head_dim = 24,
                                                .rope = {.dims = 8, .theta = 1e4},
                                                .qk_norm = {1e-6, 1},
                                                .gate = true};

// A page has 256 positions: the state of the delta net takes more than the cache of 128.
struct recurrent : network<embedding<131, 96>,
                           stack<5, mixing_layer<short_conv<96, 3>>, mixing_layer<attention<gated_attend>>,
                                 mixing_layer<short_conv<96, 6, true>>,
                                 mixing_layer<gated_delta_net<delta_net_options{.dim = 96,
                                                                                .key_heads = 2,
                                                                                .value_heads = 6,
                                                                                .key_dim = 20,
                                                                                .value_dim = 40,
                                                                                .taps = 4,
                                                                                .eps = 1e-6}>>,
                                 block<residual<rms_norm<96, 1e-6>,
                                                mamba_mixer<mamba_options{.dim = 96,
                                                                          .heads = 6,
                                                                          .head_dim = 10,
                                                                          .state = 20,
                                                                          .groups = 3,
                                                                          .taps = 4,
                                                                          .eps = 1e-5,
                                                                          .least_step = 0.2,
                                                                          .most_step = 2,
                                                                          .conv_bias = true,
                                                                          .bias = true}>>,
                                       residual<rms_norm<96, 1e-6>, plain_mlp<96, 40, activation::relu2>>>>,
                           rms_norm<96, 1e-6>, head<96, 131, false>> {
  static constexpr auto names = common_names +
      std::array{name_rule{place::body, role::conv_in, 0, "model.layers.{}.conv.in_proj", ""},
                 name_rule{place::body, role::conv, 0, "model.layers.{}.conv.conv", ""},
                 name_rule{place::body, role::conv, 1, "model.layers.{}.conv.conv_k", ""},
                 name_rule{place::body, role::conv, 2, "model.layers.{}.conv.conv_v", ""},
                 name_rule{place::body, role::conv_out, 0, "model.layers.{}.conv.out_proj", ""},
                 name_rule{place::body, role::q_gate, 0, "model.layers.{}.q_gate", ""},
                 name_rule{place::body, role::delta_q, 0, "model.layers.{}.delta_q", ""},
                 name_rule{place::body, role::delta_k, 0, "model.layers.{}.delta_k", ""},
                 name_rule{place::body, role::delta_v, 0, "model.layers.{}.delta_v", ""},
                 name_rule{place::body, role::delta_gate, 0, "model.layers.{}.delta_gate", ""},
                 name_rule{place::body, role::alpha, 0, "model.layers.{}.alpha", ""},
                 name_rule{place::body, role::beta, 0, "model.layers.{}.beta", ""},
                 name_rule{place::body, role::decay, 0, "model.layers.{}.decay", ""},
                 name_rule{place::body, role::step_bias, 0, "model.layers.{}.step_bias", ""},
                 name_rule{place::body, role::delta_norm, 0, "model.layers.{}.delta_norm", ""},
                 name_rule{place::body, role::delta_out, 0, "model.layers.{}.delta_out", ""},
                 name_rule{place::body, role::ssm_gate, 0, "model.layers.{}.ssm_gate", ""},
                 name_rule{place::body, role::ssm_in, 0, "model.layers.{}.ssm_in", ""},
                 name_rule{place::body, role::ssm_step, 0, "model.layers.{}.ssm_step", ""},
                 name_rule{place::body, role::skip, 0, "model.layers.{}.skip", ""},
                 name_rule{place::body, role::ssm_norm, 0, "model.layers.{}.ssm_norm", ""},
                 name_rule{place::body, role::ssm_out, 0, "model.layers.{}.ssm_out", ""}};
};

}  // namespace random_model

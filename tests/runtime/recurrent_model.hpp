// SPDX-License-Identifier: MIT
// recurrent_model.hpp: a small model whose layers keep recurrent states, and one that attends between them.
#pragma once

#include "random_model.hpp"

namespace random_model {

template <class Mixer> using mixing_layer = block<
    residual<rms_norm<96, 1e-6>, Mixer>,
    residual<rms_norm<96, 1e-6>, gated_mlp<96, 64, activation::silu>>>;

struct recurrent : model<
    embedding<131, 96>,
    stack<3, mixing_layer<short_conv<96, 3>>, mixing_layer<attention<tiny_attend>>, mixing_layer<short_conv<96, 6, true>>>,
    rms_norm<96, 1e-6>,
    head<96, 131, false>> {
  static constexpr auto names = common_names + std::array{
      name_rule{place::body, role::conv_in, 0, "model.layers.{}.conv.in_proj", ""},
      name_rule{place::body, role::conv, 0, "model.layers.{}.conv.conv", ""},
      name_rule{place::body, role::conv_out, 0, "model.layers.{}.conv.out_proj", ""}};
};

}  // namespace random_model

// SPDX-License-Identifier: MIT
// mixed_model.hpp: a model whose layers are not alike, in odd shapes.
#pragma once

#include "random_model.hpp"

namespace random_model {

// Two kinds of attention in odd shapes: over all keys, and over a window that ends inside a block of keys.
// 132 columns of o are no whole q8_0 blocks.
struct mixed : network<embedding<131, 96>,
                       stack<3,
                             block<residual<rms_norm<96, 1e-6>,
                                            attention<attention_options{.dim = 96,
                                                                        .heads = 6,
                                                                        .kv_heads = 2,
                                                                        .head_dim = 22,
                                                                        .rope = {.dims = 22, .theta = 1e4},
                                                                        .qk_norm = {1e-6}}>>,
                                   residual<rms_norm<96, 1e-6>, gated_mlp<96, 160, activation::silu>>>,
                             block<residual<rms_norm<96, 1e-6>,
                                            attention<attention_options{.dim = 96,
                                                                        .heads = 3,
                                                                        .kv_heads = 3,
                                                                        .head_dim = 32,
                                                                        .rope = {.dims = 20, .theta = 500},
                                                                        .window = 75,
                                                                        .qkv_bias = true}>>,
                                   residual<rms_norm<96, 1e-6>, gated_mlp<96, 96, activation::silu>>>>,
                       rms_norm<96, 1e-6>, head<96, 131, false>> {};

}  // namespace random_model

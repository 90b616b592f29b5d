// SPDX-License-Identifier: MIT
// whole_rows.hpp: a model that norms rows of queries and keys whole, as OLMo 2 does.
#pragma once

#include "sameness.hpp"

namespace own_queries {

using namespace cke;

inline constexpr attention_options attend{.dim = 96,
                                          .heads = 4,
                                          .kv_heads = 2,
                                          .head_dim = 24,
                                          .rope = {.dims = 24, .theta = 1e4},
                                          .qk_norm = {.eps = 1e-6, .together = true}};
struct whole_rows : network<embedding<131, 96>,
                            stack<2,
                                  block<residual<attention<attend>, rms_norm<96, 1e-6>>,
                                        residual<gated_mlp<96, 160, activation::silu>, rms_norm<96, 1e-6>>>>,
                            rms_norm<96, 1e-6>, head<96, 131, false>> {};

}  // namespace own_queries

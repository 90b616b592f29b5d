// SPDX-License-Identifier: MIT
// qwen3_5_moe.hpp: Qwen3.5 with experts: the same mixers, and one expert that every token uses.
#pragma once

#include "qwen3_5.hpp"
// clang-format off
namespace cke {

// Qwen3-Next uses this too.
struct qwen3_5_moe_config {
  u32 vocab, dim, expert_hidden, shared_hidden, layers, heads, kv_heads, head_dim = 256;
  u32 key_heads = 16, value_heads = 32, key_dim = 128, value_dim = 128, taps = 4;
  bool tiled{};
  layer_set linear = layer_set::all_but_every(4);
  u32 experts = 256, active = 8;
  bool renormalise = true;
  real eps = 1e-6;
  bool tied{};
  rotary rope{.theta = 1e7};
  bool images{};
  u32 section_t = 11, section_h = 11, section_w = 10;
};

template <qwen3_5_moe_config C> using qwen3_5_experts = moe<moe_options{
    .dim = C.dim, .hidden = C.expert_hidden, .route = {.experts = C.experts, .active = C.active,
    .renormalise = C.renormalise},
    .shared = C.shared_hidden, .shared_gate = true}>;

template <qwen3_5_moe_config C> struct qwen3_5_moe : qwen3_5_list<C, qwen3_5_experts<C>> {
  using family = cke::family<"qwen3_5_moe_text">;
  static constexpr qwen3_5_moe_config config = C;
};

struct Qwen3_5_35B_A3B : qwen3_5_moe<qwen3_5_moe_config{
    .vocab = 248320, .dim = 2048, .expert_hidden = 512, .shared_hidden = 512, .layers = 40, .heads = 16,
    .kv_heads = 2}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/qwen3_5_moe.hpp"
#endif

// SPDX-License-Identifier: MIT
// qwen3_next.hpp: Qwen3-Next: the mixers and experts of Qwen3.5 with another arrangement of the checkpoint.
#pragma once

#include "qwen3_5_moe.hpp"

namespace cke {

template <qwen3_5_moe_config C> struct qwen3_next : qwen3_5_list<C, qwen3_5_experts<C>> {
  using family = cke::family<"qwen3_next">;
  static constexpr qwen3_5_moe_config config = C;
};

template <> struct family<"qwen3_next"> : qwen3_5_moe_family {
  template <config C> using type = qwen3_next<C>;
  static constexpr std::string_view name = "qwen3_next", gguf_name = "qwen3next", header = "cke/models/qwen3_next.hpp", type_name = "cke::qwen3_next";
  static constexpr auto keys = keys_with(key::renormalise);
  static constexpr requirement must_be[] = {
      {"hidden_act", "silu"}, {"attention_bias", "false"}, {"decoder_sparse_step", "1"}, {"mlp_only_layers", "[]"}};
  static constexpr config defaults{.vocab = 151936, .dim = 2048, .expert_hidden = 512, .shared_hidden = 512, .layers = 48, .heads = 16, .kv_heads = 2,
                                   .experts = 512, .active = 10, .rope = {.theta = 1e4}};
  static constexpr config gguf_defaults{.vocab = 0, .dim = 0, .expert_hidden = 0, .shared_hidden = 0, .layers = 0, .heads = 0, .kv_heads = 1,
                                        .experts = 0, .active = 0};
  static void to_gguf(const config& c, json, auto put) { qwen3_5_to_gguf(c, put); }
  static constexpr auto names = qwen3_5_names + std::array{
      name_rule{place::body, role::delta_q, 0, "model.layers.{}.linear_attn.in_proj_qkvz<0>", "blk.{}.attn_qkv[0]"},
      name_rule{place::body, role::delta_k, 0, "model.layers.{}.linear_attn.in_proj_qkvz<1>", "blk.{}.attn_qkv[1]"},
      name_rule{place::body, role::delta_v, 0, "model.layers.{}.linear_attn.in_proj_qkvz<2>", "blk.{}.attn_qkv[2]"},
      name_rule{place::body, role::delta_gate, 0, "model.layers.{}.linear_attn.in_proj_qkvz<3>", "blk.{}.attn_gate"},
      name_rule{place::body, role::beta, 0, "model.layers.{}.linear_attn.in_proj_ba<0>", "blk.{}.ssm_ba<0>"},
      name_rule{place::body, role::alpha, 0, "model.layers.{}.linear_attn.in_proj_ba<1>", "blk.{}.ssm_ba<1>"}};
};

struct Qwen3_Next_80B_A3B : qwen3_next<qwen3_5_moe_config{.vocab = 151936, .dim = 2048, .expert_hidden = 512, .shared_hidden = 512, .layers = 48, .heads = 16, .kv_heads = 2, .experts = 512, .active = 10}> {};

}  // namespace cke

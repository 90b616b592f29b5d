// SPDX-License-Identifier: MIT
// qwen3_next.hpp: Qwen3-Next: the mixers and experts of Qwen3.5 with another arrangement of the checkpoint.
#pragma once

#include "qwen3_5_moe.hpp"

namespace cke {

struct qwen3_next_config {
  u32 vocab, dim, expert_hidden, shared_hidden, layers, heads, kv_heads, head_dim = 256;
  u32 key_heads = 16, value_heads = 32, key_dim = 128, value_dim = 128, taps = 4;
  bool tiled{};
  layer_set linear = layer_set::all_but_every(4);
  u32 experts = 512, active = 10;
  bool renormalise = true;
  real eps = 1e-6;
  bool tied{};
  rotary rope{.theta = 1e7};
};

template <qwen3_next_config C> struct qwen3_next : qwen3_5_list<C, qwen3_5_experts<C>> {
  using family = cke::family<"qwen3_next">;
  static constexpr qwen3_next_config config = C;
};

template <> struct family<"qwen3_next"> {
  using config = qwen3_next_config;
  template <config C> using type = qwen3_next<C>;
  static constexpr std::string_view name = "qwen3_next", gguf_name = "qwen3next", header = "cke/models/qwen3_next.hpp", type_name = "cke::qwen3_next";
  static constexpr bool predicts_ahead = true;
  static constexpr config_key keys[] = {
      key::vocab.or_default(), key::dim.or_default(), key::expert_hidden.or_default(), key::shared_hidden, key::layers.or_default(),
      key::heads.or_default(), key::kv_heads, key::head_dim, key::key_heads, key::value_heads, key::key_dim, key::value_dim, key::delta_taps,
      key::tiled, key::linear, key::experts.or_default(), key::active.or_default(), key::renormalise, key::eps, key::tied, key::partial_rope};
  static constexpr requirement must_be[] = {
      {"hidden_act", "silu"}, {"attention_bias", "false"}, {"decoder_sparse_step", "1"}, {"mlp_only_layers", "[]"}};
  static constexpr config defaults{.vocab = 151936, .dim = 2048, .expert_hidden = 512, .shared_hidden = 512, .layers = 48, .heads = 16, .kv_heads = 2,
                                   .rope = {.theta = 1e4}};
  static constexpr config gguf_defaults{.vocab = 0, .dim = 0, .expert_hidden = 0, .shared_hidden = 0, .layers = 0, .heads = 0, .kv_heads = 1,
                                        .experts = 0, .active = 0};
  static constexpr config finish(config c) { return qwen3_5_finished(c); }
  static constexpr auto matrices(const config& c, u32 layer) { return qwen3_5_matrices(c, layer); }
  static void to_gguf(const config& c, json, auto put) { qwen3_5_to_gguf(c, put); }
  static constexpr auto names = qwen3_5_names + std::array{
      name_rule{place::body, role::delta_q, 0, "model.layers.{}.linear_attn.in_proj_qkvz<0>", "blk.{}.attn_qkv[0]"},
      name_rule{place::body, role::delta_k, 0, "model.layers.{}.linear_attn.in_proj_qkvz<1>", "blk.{}.attn_qkv[1]"},
      name_rule{place::body, role::delta_v, 0, "model.layers.{}.linear_attn.in_proj_qkvz<2>", "blk.{}.attn_qkv[2]"},
      name_rule{place::body, role::delta_gate, 0, "model.layers.{}.linear_attn.in_proj_qkvz<3>", "blk.{}.attn_gate"},
      name_rule{place::body, role::beta, 0, "model.layers.{}.linear_attn.in_proj_ba<0>", "blk.{}.ssm_ba<0>"},
      name_rule{place::body, role::alpha, 0, "model.layers.{}.linear_attn.in_proj_ba<1>", "blk.{}.ssm_ba<1>"}};
};

struct Qwen3_Next_80B_A3B : qwen3_next<qwen3_next_config{.vocab = 151936, .dim = 2048, .expert_hidden = 512, .shared_hidden = 512, .layers = 48, .heads = 16, .kv_heads = 2}> {};

}  // namespace cke

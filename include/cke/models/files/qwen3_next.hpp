// SPDX-License-Identifier: MIT
// qwen3_next.hpp: how files spell Qwen3-Next.
#pragma once

#include "../family.hpp"
#include "../qwen3_next.hpp"

namespace cke {

template <> struct family<"qwen3_next"> : qwen3_5_moe_shared {
  template <config C> using type = qwen3_next<C>;
  using presets = list<Qwen3_Next_80B_A3B>;
  static constexpr std::string_view name = "qwen3_next", gguf_name = "qwen3next", type_name = "cke::qwen3_next";
  static constexpr auto keys = keys_with(key::renormalise);
  static constexpr requirement must_be[] = {
      {"hidden_act", "silu"}, {"attention_bias", "false"}, {"decoder_sparse_step", "1"}, {"mlp_only_layers", "[]"}};
  static constexpr config defaults{.vocab = 151936,
                                   .dim = 2048,
                                   .expert_hidden = 512,
                                   .shared_hidden = 512,
                                   .layers = 48,
                                   .heads = 16,
                                   .kv_heads = 2,
                                   .experts = 512,
                                   .active = 10,
                                   .rope = {.theta = 1e4}};
  static constexpr config gguf_defaults{.vocab = 0,
                                        .dim = 0,
                                        .expert_hidden = 0,
                                        .shared_hidden = 0,
                                        .layers = 0,
                                        .heads = 0,
                                        .kv_heads = 1,
                                        .experts = 0,
                                        .active = 0};
  static constexpr model_shape shape(const config& c) {
    model_shape s = qwen3_5_moe_shared::shape(c);
    s.tiled_in_gguf = false;
    return s;
  }
  static constexpr auto names = qwen3_5_names +
      std::array{
          layer_name(role::delta_q, head_part(0, "model.layers.{}.linear_attn.in_proj_qkvz"),
                     part(0, "blk.{}.attn_qkv")),
          layer_name(role::delta_k, head_part(1, "model.layers.{}.linear_attn.in_proj_qkvz"),
                     part(1, "blk.{}.attn_qkv")),
          layer_name(role::delta_v, head_part(2, "model.layers.{}.linear_attn.in_proj_qkvz"),
                     part(2, "blk.{}.attn_qkv")),
          layer_name(role::delta_gate, head_part(3, "model.layers.{}.linear_attn.in_proj_qkvz"), "blk.{}.attn_gate"),
          layer_name(role::beta, head_part(0, "model.layers.{}.linear_attn.in_proj_ba"), head_part(0, "blk.{}.ssm_ba")),
          layer_name(role::alpha, head_part(1, "model.layers.{}.linear_attn.in_proj_ba"),
                     head_part(1, "blk.{}.ssm_ba"))};
};

}  // namespace cke

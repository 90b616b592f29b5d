// SPDX-License-Identifier: MIT
// qwen2_moe.hpp: how files spell Qwen2 with experts, one of them shared and gated.
#pragma once

#include "../family.hpp"
#include "../qwen2_moe.hpp"

namespace cke {

template <> struct family<"qwen2_moe"> : experts_family<qwen2_moe_config> {
  template <config C> using type = qwen2_moe<C>;
  using presets = list<Qwen1_5_MoE_A2_7B, Qwen2_57B_A14B>;
  static constexpr std::string_view name = "qwen2_moe", gguf_name = "qwen2moe", type_name = "cke::qwen2_moe";
  static constexpr config_key<config> keys[] = {
      key::vocab,         key::dim,
      key::expert_hidden, key::shared_hidden,
      key::layers,        key::heads,
      key::kv_heads,      key::head_dim,
      key::experts,       key::active,
      key::renormalise,   key::eps,
      key::tied,          bind<&config::attention_bias>("qkv_bias", "attention_bias").shown(),
      key::rope};
  static constexpr requirement must_be[] = {
      {"hidden_act", "silu"}, {"use_sliding_window", "false"}, {"decoder_sparse_step", "1"}, {"mlp_only_layers", "[]"}};
  static constexpr config defaults{.vocab = 0,
                                   .dim = 0,
                                   .expert_hidden = 0,
                                   .shared_hidden = 0,
                                   .layers = 0,
                                   .heads = 0,
                                   .kv_heads = 16,
                                   .experts = 0,
                                   .active = 0,
                                   .rope = {.theta = 1e4}};
  static constexpr config gguf_defaults{.vocab = 0,
                                        .dim = 0,
                                        .expert_hidden = 0,
                                        .shared_hidden = 0,
                                        .layers = 0,
                                        .heads = 0,
                                        .kv_heads = 0,
                                        .experts = 0,
                                        .active = 0,
                                        .rope = {.theta = 1e4}};
  static constexpr auto names = expert_names + one_shared_expert_rules;
};

}  // namespace cke

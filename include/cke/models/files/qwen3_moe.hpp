// SPDX-License-Identifier: MIT
// qwen3_moe.hpp: how files spell Qwen3 with experts.
#pragma once

#include "../family.hpp"
#include "../qwen3_moe.hpp"

namespace cke {

template <> struct family<"qwen3_moe"> : experts_family<qwen3_moe_config> {
  template <config C> using type = qwen3_moe<C>;
  using presets = list<Qwen3_30B_A3B, Qwen3_235B_A22B>;
  static constexpr std::string_view name = "qwen3_moe", gguf_name = "qwen3moe", type_name = "cke::qwen3_moe";
  static constexpr config_key<config> keys[] = {
      key::vocab,   key::dim,    key::expert_hidden, key::layers, key::heads, key::kv_heads,       key::head_dim,
      key::experts, key::active, key::renormalise,   key::eps,    key::tied,  key::attention_bias, key::rope};
  static constexpr requirement must_be[] = {
      {"hidden_act", "silu"}, {"use_sliding_window", "false"}, {"decoder_sparse_step", "1"}, {"mlp_only_layers", "[]"}};
  static constexpr config defaults{.vocab = 0,
                                   .dim = 0,
                                   .expert_hidden = 0,
                                   .layers = 0,
                                   .heads = 0,
                                   .kv_heads = 4,
                                   .head_dim = 0,
                                   .experts = 0,
                                   .active = 0,
                                   .renormalise = false,
                                   .rope = {.theta = 1e4}};
  static constexpr config gguf_defaults{.vocab = 0,
                                        .dim = 0,
                                        .expert_hidden = 0,
                                        .layers = 0,
                                        .heads = 0,
                                        .kv_heads = 0,
                                        .head_dim = 0,
                                        .experts = 0,
                                        .active = 0};
};

}  // namespace cke

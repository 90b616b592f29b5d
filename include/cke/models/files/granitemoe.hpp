// SPDX-License-Identifier: MIT
// granitemoe.hpp: how files spell Granite with experts.
#pragma once

#include "../family.hpp"
#include "../granitemoe.hpp"

namespace cke {

inline constexpr std::array granite_expert_rules{
    layer_name(role::router,
               either("model.layers.{}.block_sparse_moe.router.layer", "model.layers.{}.block_sparse_moe.router"),
               "blk.{}.ffn_gate_inp"),
    layer_name(role::gate_experts,
               either(part(0, "model.layers.{}.block_sparse_moe.input_linear"),
                      part(0, exact("model.layers.{}.block_sparse_moe.experts.gate_up_proj"))),
               "blk.{}.ffn_gate_exps"),
    layer_name(role::up_experts,
               either(part(1, "model.layers.{}.block_sparse_moe.input_linear"),
                      part(1, exact("model.layers.{}.block_sparse_moe.experts.gate_up_proj"))),
               "blk.{}.ffn_up_exps"),
    layer_name(role::down_experts,
               either("model.layers.{}.block_sparse_moe.output_linear",
                      exact("model.layers.{}.block_sparse_moe.experts.down_proj")),
               "blk.{}.ffn_down_exps")};

template <> struct family<"granitemoe"> : experts_family<granitemoe_config> {
  using key = granite_keys<config>;
  template <config C> using type = granitemoe<C>;
  using presets = list<Granite_3_0_1B_A400M, Granite_3_0_3B_A800M>;
  static constexpr std::string_view name = "granitemoe", type_name = "cke::granitemoe";
  static constexpr config_key<config> keys[] = {
      key::vocab,
      key::dim,
      bind<&config::expert_hidden>("intermediate_size", "feed_forward_length").range(1, 1 << 22),
      key::layers,
      key::heads,
      key::kv_heads,
      key::head_dim,
      key::experts,
      key::active,
      key::embedding_multiplier,
      key::attention_multiplier,
      key::residual_multiplier,
      key::logits_scaling,
      key::eps,
      key::tied,
      key::attention_bias,
      key::rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}};
  static constexpr config defaults{.vocab = 0,
                                   .dim = 0,
                                   .expert_hidden = 0,
                                   .layers = 0,
                                   .heads = 0,
                                   .kv_heads = 0,
                                   .experts = 8,
                                   .active = 2,
                                   .embedding_multiplier = 1,
                                   .attention_multiplier = 1,
                                   .residual_multiplier = 1,
                                   .logits_scaling = 1,
                                   .tied = false};
  static constexpr config gguf_defaults{.vocab = 0,
                                        .dim = 0,
                                        .expert_hidden = 0,
                                        .layers = 0,
                                        .heads = 0,
                                        .kv_heads = 0,
                                        .embedding_multiplier = 1,
                                        .attention_multiplier = 0,
                                        .residual_multiplier = 1,
                                        .logits_scaling = 1};
  static constexpr auto names = expert_names + paired_rules + granite_expert_rules;
};

}  // namespace cke

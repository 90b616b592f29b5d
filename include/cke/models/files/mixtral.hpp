// SPDX-License-Identifier: MIT
// mixtral.hpp: how files spell Mixtral.
#pragma once

#include "../family.hpp"
#include "../mixtral.hpp"

namespace cke {

template <> struct family<"mixtral"> : experts_family<mixtral_config> {
  template <config C> using type = mixtral<C>;
  using presets = list<Mixtral_8x7B, Mixtral_8x22B>;
  static constexpr std::string_view name = "mixtral", gguf_name = "llama", type_name = "cke::mixtral";
  static constexpr bool is_gguf(std::string_view architecture, json metadata) {
    return architecture == gguf_name && metadata["expert_count"].number() != 0;
  }
  static constexpr config_key<config> keys[] = {
      key::vocab,
      key::dim,
      bind<&config::expert_hidden>("intermediate_size", "feed_forward_length").range(1, 1 << 22),
      key::layers,
      key::heads,
      key::kv_heads.null_means(0),
      key::head_dim,
      key::experts,
      key::active,
      key::eps,
      key::tied,
      key::rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}, {"sliding_window", "null"}};
  static constexpr config defaults{.vocab = 0, .dim = 0, .expert_hidden = 0, .layers = 0, .heads = 0, .kv_heads = 8};
  static constexpr config gguf_defaults{
      .vocab = 0, .dim = 0, .expert_hidden = 0, .layers = 0, .heads = 0, .kv_heads = 0};
  static constexpr auto names = expert_names + paired_rules +
      std::array{layer_name(role::router, either("model.layers.{}.block_sparse_moe.gate", "model.layers.{}.mlp.gate"),
                            "blk.{}.ffn_gate_inp"),
                 layer_name(role::gate_experts,
                            either("model.layers.{}.block_sparse_moe.experts.{}.w1",
                                   part(0, exact("model.layers.{}.mlp.experts.gate_up_proj"))),
                            "blk.{}.ffn_gate_exps"),
                 layer_name(role::up_experts,
                            either("model.layers.{}.block_sparse_moe.experts.{}.w3",
                                   part(1, exact("model.layers.{}.mlp.experts.gate_up_proj"))),
                            "blk.{}.ffn_up_exps"),
                 layer_name(role::down_experts,
                            either("model.layers.{}.block_sparse_moe.experts.{}.w2",
                                   exact("model.layers.{}.mlp.experts.down_proj")),
                            "blk.{}.ffn_down_exps")};
};

}  // namespace cke

// SPDX-License-Identifier: MIT
// lfm2_moe.hpp: how files spell LFM2 with experts.
#pragma once

#include "../family.hpp"
#include "../lfm2_moe.hpp"

namespace cke {

template <> struct family<"lfm2_moe"> : experts_family<lfm2_moe_config> {
  using key = lfm2_keys<config>;
  template <config C> using type = lfm2_moe<C>;
  using presets = list<LFM2_8B_A1B>;
  static constexpr std::string_view name = "lfm2_moe", gguf_name = "lfm2moe", type_name = "cke::lfm2_moe";
  static void to_gguf(const config&, json, auto put) { put("expert_gating_func", 2u); }  // sigmoid
  static constexpr config_key<config> keys[] = {
      key::vocab,
      key::dim,
      key::hidden,
      key::expert_hidden,
      key::layers,
      key::heads,
      key::kv_heads,
      key::head_dim,
      key::taps,
      key::attends,
      key::experts,
      key::active,
      bind<&config::dense_layers>("num_dense_layers", "leading_dense_block_count").range(0, layer_set::most),
      bind<&config::expert_bias>("use_expert_bias"),
      key::renormalise,
      key::weights_scale,
      key::eps,
      key::tied,
      key::conv_bias,
      key::rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}};
  static constexpr config defaults{
      .vocab = 65536, .dim = 2048, .hidden = 7168, .expert_hidden = 1792, .layers = 32, .heads = 32};
  static constexpr config gguf_defaults{.vocab = 0,
                                        .dim = 0,
                                        .hidden = 0,
                                        .expert_hidden = 0,
                                        .layers = 0,
                                        .heads = 0,
                                        .experts = 0,
                                        .active = 0,
                                        .dense_layers = 0};
  static constexpr config finish(config c) {
    c = usual_family::finish(c);
    c.attends = c.attends.first(c.layers);
    return c;
  }
  static constexpr layer_matrices matrices(const config& c, u32 layer) {
    layer_matrices all = lfm2_mixer(c, layer);
    return layer < c.dense_layers ? all.mlp(c.hidden) : all.experts(c.experts, c.expert_hidden);
  }
  static constexpr model_shape shape(const config& c) {
    return {.heads = c.heads, .kv_heads = c.kv_heads, .experts = c.experts, .attends = &c.attends};
  }
  static constexpr auto names = expert_names + lfm2_names +
      std::array{layer_name(role::router, "model.layers.{}.feed_forward.gate", "blk.{}.ffn_gate_inp"),
                 layer_name(role::router_bias, exact("model.layers.{}.feed_forward.expert_bias"),
                            exact("blk.{}.exp_probs_b.bias")),
                 layer_name(role::gate_experts,
                            either("model.layers.{}.feed_forward.experts.{}.w1",
                                   part(0, exact("model.layers.{}.feed_forward.experts.gate_up_proj"))),
                            "blk.{}.ffn_gate_exps"),
                 layer_name(role::up_experts,
                            either("model.layers.{}.feed_forward.experts.{}.w3",
                                   part(1, exact("model.layers.{}.feed_forward.experts.gate_up_proj"))),
                            "blk.{}.ffn_up_exps"),
                 layer_name(role::down_experts,
                            either("model.layers.{}.feed_forward.experts.{}.w2",
                                   exact("model.layers.{}.feed_forward.experts.down_proj")),
                            "blk.{}.ffn_down_exps")};
};

}  // namespace cke

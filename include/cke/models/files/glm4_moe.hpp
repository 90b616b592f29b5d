// SPDX-License-Identifier: MIT
// glm4_moe.hpp: how files spell GLM-4.5.
#pragma once

#include "../family.hpp"
#include "../glm4_moe.hpp"

namespace cke {

template <> struct family<"glm4_moe"> : experts_family<glm4_moe_config> {
  template <config C> using type = glm4_moe<C>;
  using presets = list<GLM_4_5_Air, GLM_4_5>;
  static constexpr std::string_view name = "glm4_moe", gguf_name = "glm4moe", type_name = "cke::glm4_moe";
  static void to_gguf(const config&, json, auto put) { put("expert_gating_func", 2u); }  // sigmoid
  static constexpr bool predicts_ahead = true;  // files have layers after the last, for speculative decoding
  static constexpr config_key<config> keys[] = {key::vocab,
                                                key::dim,
                                                key::hidden,
                                                key::expert_hidden,
                                                key::layers,
                                                key::heads,
                                                key::kv_heads,
                                                key::head_dim,
                                                key::routed_experts,
                                                key::active,
                                                key::shared,
                                                key::groups,
                                                key::groups_kept,
                                                key::dense_layers,
                                                key::weights_scale,
                                                key::renormalise,
                                                bind<&config::qk_norm>("use_qk_norm", "qk_norm").shown(),
                                                key::eps,
                                                key::tied,
                                                key::attention_bias,
                                                key::rope.or_a_part()};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}};
  static constexpr config defaults{.vocab = 0,
                                   .dim = 0,
                                   .hidden = 0,
                                   .expert_hidden = 0,
                                   .layers = 0,
                                   .heads = 0,
                                   .kv_heads = 8,
                                   .head_dim = 0,
                                   .experts = 0,
                                   .active = 0,
                                   .attention_bias = false,
                                   .rope = {.theta = 1e4}};
  static constexpr config finish(config c) {
    c = usual_family::finish(c);
    c.rope.dims = c.rope.dims ? c.rope.dims : c.head_dim / 2;
    return c;
  }
  static constexpr auto relations = experts_family::relations + expert_groups<config>;
  static constexpr layer_matrices matrices(const config& c, u32 layer) {
    return layer < c.dense_layers ? usual_family::matrices(c, layer) : experts_family::matrices(c, layer);
  }
  static constexpr auto names = expert_names +
      std::array{layer_name(role::norm, 1, "model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm")};
};

}  // namespace cke

// SPDX-License-Identifier: MIT
// glm4.hpp: how files spell GLM-4.
#pragma once

#include "../family.hpp"
#include "../glm4.hpp"

namespace cke {

template <> struct family<"glm4"> : usual_family<glm4_config> {
  template <config C> using type = glm4<C>;
  using presets = list<GLM_4_9B, GLM_4_32B>;
  static constexpr std::string_view name = "glm4", type_name = "cke::glm4";
  static constexpr config_key<config> keys[] = {
      key::vocab,    key::dim, key::hidden, key::layers,         key::heads,           key::kv_heads,
      key::head_dim, key::eps, key::tied,   key::attention_bias, key::rope.or_a_part()};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}};
  static constexpr config defaults{
      .vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0, .kv_heads = 2, .eps = 1.5625e-07};
  static constexpr config finish(config c) {
    c.rope.dims = c.rope.dims ? c.rope.dims : c.head_dim / 2;
    return c;
  }
  static constexpr auto names = common_names +
      std::array{layer_name(role::norm, 1, "model.layers.{}.post_self_attn_layernorm", "blk.{}.post_attention_norm"),
                 layer_name(role::norm, 2, "model.layers.{}.post_attention_layernorm", "blk.{}.ffn_norm"),
                 layer_name(role::norm, 3, "model.layers.{}.post_mlp_layernorm", "blk.{}.post_ffw_norm"),
                 layer_name(role::gate, part(0, "model.layers.{}.mlp.gate_up_proj"), part(0, "blk.{}.ffn_up")),
                 layer_name(role::up, part(1, "model.layers.{}.mlp.gate_up_proj"), part(1, "blk.{}.ffn_up"))};
};

}  // namespace cke

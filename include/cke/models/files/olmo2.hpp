// SPDX-License-Identifier: MIT
// olmo2.hpp: how files spell OLMo 2.
#pragma once

#include "../family.hpp"
#include "../olmo2.hpp"

namespace cke {

template <> struct family<"olmo2"> : usual_family<olmo2_config> {
  template <config C> using type = olmo2<C>;
  using presets = list<OLMo_2_1B, OLMo_2_7B, OLMo_2_13B, OLMo_2_32B>;
  static constexpr std::string_view name = "olmo2", type_name = "cke::olmo2";
  static constexpr config_key<config> keys[] = {
      key::vocab,    key::dim, key::hidden, key::layers,         key::heads, key::kv_heads,
      key::head_dim, key::eps, key::tied,   key::attention_bias, key::rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}};
  static constexpr config defaults{
      .vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0, .kv_heads = 0, .eps = 1e-5, .rope = {.theta = 1e4}};
  static constexpr auto names = common_names +
      std::array{layer_name(role::norm, "model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm"),
                 layer_name(role::norm, 1, "model.layers.{}.post_feedforward_layernorm", "blk.{}.post_ffw_norm")};
};

}  // namespace cke

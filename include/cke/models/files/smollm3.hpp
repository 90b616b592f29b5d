// SPDX-License-Identifier: MIT
// smollm3.hpp: how files spell SmolLM3.
#pragma once

#include "../family.hpp"
#include "../smollm3.hpp"

namespace cke {

template <> struct family<"smollm3"> : usual_family<smollm3_config> {
  template <config C> using type = smollm3<C>;
  using presets = list<SmolLM3_3B>;
  static constexpr std::string_view name = "smollm3", type_name = "cke::smollm3";
  static constexpr config_key<config> keys[] = {
      key::vocab,
      key::dim,
      key::hidden,
      key::layers,
      key::heads,
      key::kv_heads.null_means(0),
      key::head_dim,
      bind<&config::turned>(either("no_rope_layers", "no_rope_layer_interval")),
      key::eps,
      key::tied,
      key::attention_bias,
      key::mlp_bias,
      key::rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}, {"use_sliding_window", "false"}};
  static constexpr config defaults{
      .vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0, .kv_heads = 4, .rope = {.theta = 2e6}};
  static constexpr config gguf_defaults{
      .vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0, .kv_heads = 0, .rope = {.theta = 2e6}};
  static constexpr config finish(config c) {
    c = usual_family::finish(c);
    c.turned = c.turned.first(c.layers);
    return c;
  }
  static constexpr auto names = paired_names;
};

}  // namespace cke

// SPDX-License-Identifier: MIT
// llama.hpp: how files spell Llama 1 to 3 and what shares its shape.
#pragma once

#include "../family.hpp"
#include "../llama.hpp"

namespace cke {

template <> struct family<"llama"> : usual_family<llama_config> {
  template <config C> using type = llama<C>;
  using presets = list<SmolLM2_135M, SmolLM2_360M, SmolLM2_1_7B, Llama_3_2_1B, Llama_3_2_3B, Llama_3_1_8B>;
  static constexpr std::string_view name = "llama", type_name = "cke::llama";
  // As GGUF, Mixtral is a llama with experts.
  static constexpr bool is_gguf(std::string_view architecture, json metadata) {
    return architecture == name && metadata["expert_count"].number() == 0;
  }
  static constexpr config_key<config> keys[] = {
      key::vocab, key::dim,  key::hidden,         key::layers,   key::heads,  key::kv_heads, key::head_dim,
      key::eps,   key::tied, key::attention_bias, key::mlp_bias, key::images, key::rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}};
  static constexpr config defaults{
      .vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0, .kv_heads = 0, .eps = 1e-6, .rope = {.theta = 1e4}};
  static constexpr auto names = paired_names;
};

}  // namespace cke

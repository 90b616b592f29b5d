// SPDX-License-Identifier: MIT
// mistral.hpp: how files spell Mistral.
#pragma once

#include "../family.hpp"
#include "../mistral.hpp"

namespace cke {

template <> struct family<"mistral"> : usual_family<mistral_config> {
  template <config C> using type = mistral<C>;
  using presets = list<Mistral_7B_v0_1, Mistral_7B_v0_3, Mistral_Nemo_12B>;
  static constexpr std::string_view name = "mistral", gguf_name = "", gguf_architecture = "llama",
                                    type_name = "cke::mistral";
  static constexpr config_key<config> keys[] = {key::vocab, key::dim,      key::hidden,   key::layers,
                                                key::heads, key::kv_heads, key::head_dim, key::window,
                                                key::eps,   key::tied,     key::images,   key::rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}};
  static constexpr config defaults{.vocab = 0,
                                   .dim = 0,
                                   .hidden = 0,
                                   .layers = 0,
                                   .heads = 0,
                                   .kv_heads = 8,
                                   .window = 4096,
                                   .eps = 1e-6,
                                   .rope = {.theta = 1e4}};
  static constexpr auto names = paired_names;
};

}  // namespace cke

// SPDX-License-Identifier: MIT
// granite.hpp: how files spell Granite (dense).
#pragma once

#include "../family.hpp"
#include "../granite.hpp"

namespace cke {

template <class C> struct granite_keys : shared_keys<C> {
  using key = config_key<C>;
  static constexpr key embedding_multiplier =
      bind<&C::embedding_multiplier>("embedding_multiplier", "embedding_scale").range(1e-6, 1e6);
  static constexpr key attention_multiplier =
      bind<&C::attention_multiplier>("attention_multiplier", "attention.scale").range(1e-6, 1e6).optional();
  static constexpr key residual_multiplier =
      bind<&C::residual_multiplier>("residual_multiplier", "residual_scale").range(1e-6, 1e6);
  static constexpr key logits_scaling = bind<&C::logits_scaling>("logits_scaling", "logit_scale").range(1e-6, 1e6);
};

template <> struct family<"granite"> : usual_family<granite_config> {
  using key = granite_keys<config>;
  template <config C> using type = granite<C>;
  using presets = list<Granite_3_3_2B, Granite_3_3_8B>;
  static constexpr std::string_view name = "granite", type_name = "cke::granite";
  static constexpr config_key<config> keys[] = {key::vocab,
                                                key::dim,
                                                key::hidden,
                                                key::layers,
                                                key::heads,
                                                key::kv_heads,
                                                key::head_dim,
                                                key::embedding_multiplier,
                                                key::attention_multiplier,
                                                key::residual_multiplier,
                                                key::logits_scaling,
                                                key::eps,
                                                key::tied,
                                                key::attention_bias,
                                                key::mlp_bias,
                                                key::rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}};
  static constexpr config defaults{.vocab = 0,
                                   .dim = 0,
                                   .hidden = 0,
                                   .layers = 0,
                                   .heads = 0,
                                   .kv_heads = 0,
                                   .embedding_multiplier = 1,
                                   .attention_multiplier = 1,
                                   .residual_multiplier = 1,
                                   .logits_scaling = 1,
                                   .eps = 1e-6,
                                   .tied = false,
                                   .rope = {.theta = 1e4}};
  static constexpr config gguf_defaults{.vocab = 0,
                                        .dim = 0,
                                        .hidden = 0,
                                        .layers = 0,
                                        .heads = 0,
                                        .kv_heads = 0,
                                        .embedding_multiplier = 1,
                                        .attention_multiplier = 0,
                                        .residual_multiplier = 1,
                                        .logits_scaling = 1};
  static constexpr auto names = paired_names;
};

}  // namespace cke

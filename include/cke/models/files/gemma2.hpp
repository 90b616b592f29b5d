// SPDX-License-Identifier: MIT
// gemma2.hpp: how files spell Gemma 2.
#pragma once

#include "../family.hpp"
#include "../gemma2.hpp"

namespace cke {

// Norms before and after each branch. Hugging Face files store their weights minus 1, GGUF files store them whole.
inline constexpr auto gemma_names = common_names +
    std::array{footer_name(role::norm, "model.norm", "output_norm").in_gguf(change::plus_one),
               layer_name(role::norm, "model.layers.{}.input_layernorm", "blk.{}.attn_norm").in_gguf(change::plus_one),
               layer_name(role::norm, 1, "model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm")
                   .in_gguf(change::plus_one),
               layer_name(role::norm, 2, "model.layers.{}.pre_feedforward_layernorm", "blk.{}.ffn_norm")
                   .in_gguf(change::plus_one),
               layer_name(role::norm, 3, "model.layers.{}.post_feedforward_layernorm", "blk.{}.post_ffw_norm")
                   .in_gguf(change::plus_one)};

template <class C> struct gemma_keys : shared_keys<C> {
  static constexpr config_key<C> query_scalar =
      bind<&C::query_scalar>("query_pre_attn_scalar").range(1, 1 << 20).optional();
  static constexpr config_key<C> score_cap =
      bind<&C::score_cap>("attn_logit_softcapping", "attn_logit_softcapping").range(1e-3, 1e6).null_means(0);
};

template <> struct family<"gemma2"> : usual_family<gemma2_config> {
  using key = gemma_keys<config>;
  template <config C> using type = gemma2<C>;
  using presets = list<Gemma_2_2B, Gemma_2_9B, Gemma_2_27B>;
  static constexpr std::string_view name = "gemma2", type_name = "cke::gemma2";
  static constexpr config_key<config> keys[] = {key::vocab,     key::dim,      key::hidden,       key::layers,
                                                key::heads,     key::kv_heads, key::head_dim,     key::window,
                                                key::sliding,   key::eps,      key::query_scalar, key::score_cap,
                                                key::logit_cap, key::tied,     key::rope};
  static constexpr requirement must_be[] = {{"hidden_activation", "gelu_pytorch_tanh"},
                                            {"hidden_act", "gelu_pytorch_tanh"},
                                            {"attention_bias", "false"},
                                            {"use_bidirectional_attention", "false"}};
  static constexpr config defaults{.vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0, .kv_heads = 4};
  static constexpr config gguf_defaults{
      .vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0, .kv_heads = 4, .query_scalar = 0};
  static constexpr config finish(config c) {
    c.sliding = c.sliding.first(c.layers);
    // GGUF does not say it; llama.cpp knows the 27B model by its depth.
    if (c.query_scalar.v == 0 && c.heads) c.query_scalar = c.layers == 46 ? c.dim / c.heads : c.head_dim;
    return c;
  }
  static constexpr auto names = gemma_names;
};

}  // namespace cke

// SPDX-License-Identifier: MIT
// gemma3.hpp: how files spell Gemma 3's decoder.
#pragma once

#include "../family.hpp"
#include "../gemma3.hpp"

namespace cke {

template <> struct family<"gemma3_text"> : usual_family<gemma3_config> {
  using key = gemma_keys<config>;
  template <config C> using type = gemma3<C>;
  using presets = list<Gemma_3_270M, Gemma_3_1B, Gemma_3_4B>;
  static constexpr std::string_view name = "gemma3_text", gguf_name = "gemma3", type_name = "cke::gemma3";
  static constexpr config_key<config> keys[] = {key::vocab,        key::dim,
                                                key::hidden,       key::layers,
                                                key::heads,        key::kv_heads,
                                                key::head_dim,     key::window,
                                                key::sliding,      key::eps,
                                                key::query_scalar, key::tied,
                                                key::images,       key::rope.of_layers("full_attention"),
                                                key::local_rope};
  static constexpr requirement must_be[] = {{"hidden_activation", "gelu_pytorch_tanh"},
                                            {"hidden_act", "gelu_pytorch_tanh"},
                                            {"attention_bias", "false"},
                                            {"use_bidirectional_attention", "false"},
                                            {"attn_logit_softcapping", "null"},
                                            {"final_logit_softcapping", "null"}};
  static constexpr config defaults{
      .vocab = 262208, .dim = 2304, .hidden = 9216, .layers = 26, .heads = 8, .kv_heads = 4, .window = 4096};
  static constexpr config gguf_defaults{.vocab = 0,
                                        .dim = 0,
                                        .hidden = 0,
                                        .layers = 0,
                                        .heads = 0,
                                        .kv_heads = 1,
                                        .window = everything,
                                        .query_scalar = 0};
  static constexpr config finish(config c) {
    c.sliding = c.sliding.first(c.layers);
    // GGUF does not say it; llama.cpp knows the 27B model by its depth.
    if (c.query_scalar.v == 0 && c.heads) c.query_scalar = c.layers == 62 ? c.dim / c.heads : c.head_dim;
    return c;
  }
  static constexpr auto names = gemma_names +
      std::array{
          layer_name(role::q_norm, "model.layers.{}.self_attn.q_norm", "blk.{}.attn_q_norm").in_gguf(change::plus_one),
          layer_name(role::k_norm, "model.layers.{}.self_attn.k_norm", "blk.{}.attn_k_norm").in_gguf(change::plus_one)};
};

}  // namespace cke

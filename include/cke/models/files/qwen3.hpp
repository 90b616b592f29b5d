// SPDX-License-Identifier: MIT
// qwen3.hpp: how files spell Qwen3 (dense).
#pragma once

#include "../family.hpp"
#include "../qwen3.hpp"

namespace cke {

template <> struct family<"qwen3"> : usual_family<qwen3_config> {
  template <config C> using type = qwen3<C>;
  using presets = list<Qwen3_0_6B, Qwen3_1_7B, Qwen3_4B, Qwen3_8B, Qwen3_14B, Qwen3_32B>;
  static constexpr std::string_view name = "qwen3", type_name = "cke::qwen3";
  static constexpr config_key<config> keys[] = {
      key::vocab,    key::dim, key::hidden, key::layers,         key::heads, key::kv_heads.null_means(0),
      key::head_dim, key::eps, key::tied,   key::attention_bias, key::rope};
  static constexpr requirement must_be[] = {
      {"hidden_act", "silu"}, {"use_sliding_window", "false"}, {"mlp_bias", "false"}};
  static constexpr config defaults{.vocab = 0,
                                   .dim = 0,
                                   .hidden = 0,
                                   .layers = 0,
                                   .heads = 0,
                                   .kv_heads = 32,
                                   .tied = false,
                                   .rope = {.theta = 1e4}};
  static constexpr config gguf_defaults{
      .vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0, .kv_heads = 0, .tied = false, .rope = {.theta = 1e4}};
};

}  // namespace cke

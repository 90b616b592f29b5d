// SPDX-License-Identifier: MIT
// qwen2.hpp: how files spell Qwen2 and Qwen2.5 (dense).
#pragma once

#include "../family.hpp"
#include "../qwen2.hpp"

namespace cke {

template <> struct family<"qwen2"> : usual_family<qwen2_config> {
  template <config C> using type = qwen2<C>;
  using presets = list<Qwen2_5_0_5B, Qwen2_5_1_5B, Qwen2_5_3B, Qwen2_5_7B>;
  static constexpr std::string_view name = "qwen2", type_name = "cke::qwen2";
  static constexpr config_key<config> keys[] = {
      key::vocab,    key::dim, key::hidden, key::layers, key::heads, key::kv_heads.null_means(0),
      key::head_dim, key::eps, key::tied,   key::rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}, {"use_sliding_window", "false"}};
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

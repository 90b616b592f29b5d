// SPDX-License-Identifier: MIT
// qwen3_vl.hpp: how files spell the decoder of Qwen3-VL.
#pragma once

#include "../family.hpp"
#include "../image_keys.hpp"
#include "../qwen3_vl.hpp"

namespace cke {

template <> struct family<"qwen3_vl_text"> : usual_family<qwen3_vl_config> {
  template <config C> using type = qwen3_vl<C>;
  using key = image_keys<config>;
  using presets = list<Qwen3_VL_2B, Qwen3_VL_4B, Qwen3_VL_8B>;
  static constexpr std::string_view name = "qwen3_vl_text", gguf_name = "qwen3vl", type_name = "cke::qwen3_vl";
  static constexpr config_key<config> keys[] = {
      key::vocab,     key::dim,       key::hidden,    key::layers,     key::heads,          key::kv_heads.null_means(0),
      key::head_dim,  key::eps,       key::tied,      key::taps,       key::attention_bias, key::rope,
      key::section_t, key::section_h, key::section_w, key::interleaved};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}};
  static constexpr config defaults{.vocab = 151936,
                                   .dim = 4096,
                                   .hidden = 22016,
                                   .layers = 32,
                                   .heads = 32,
                                   .kv_heads = 32,
                                   .taps = 0,
                                   .tied = false,
                                   .rope = {.theta = 5e5}};
  static constexpr config gguf_defaults{.vocab = 0,
                                        .dim = 0,
                                        .hidden = 0,
                                        .layers = 0,
                                        .heads = 0,
                                        .kv_heads = 0,
                                        .taps = 0,
                                        .tied = false,
                                        .rope = {.theta = 1e4}};
  static constexpr std::array<relation<config>, 4> relations{
      multiple_of<&config::heads, &config::kv_heads>, even<&config::head_dim>, at_most<&config::taps, &config::layers>,
      key::sections_cover};
  static void to_gguf(const config& c, json, auto put) { put("rope.dimension_sections", sections_in_gguf(c)); }
};

}  // namespace cke

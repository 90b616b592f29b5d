// SPDX-License-Identifier: MIT
// qwen2_5_vl.hpp: how files spell the decoder of Qwen2.5-VL.
#pragma once

#include "../family.hpp"
#include "../image_keys.hpp"
#include "../qwen2_5_vl.hpp"

namespace cke {

template <> struct family<"qwen2_5_vl_text"> : usual_family<qwen2_5_vl_config> {
  template <config C> using type = qwen2_5_vl<C>;
  using key = image_keys<config>;
  using presets = list<Qwen2_5_VL_3B, Qwen2_5_VL_7B>;
  static constexpr std::string_view name = "qwen2_5_vl_text", gguf_name = "qwen2vl", type_name = "cke::qwen2_5_vl";
  static constexpr config_key<config> keys[] = {
      key::vocab,    key::dim, key::hidden, key::layers, key::heads,     key::kv_heads.null_means(0),
      key::head_dim, key::eps, key::tied,   key::rope,   key::section_t, key::section_h,
      key::section_w};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}, {"use_sliding_window", "false"}};
  static constexpr config defaults{
      .vocab = 152064, .dim = 8192, .hidden = 29568, .layers = 80, .heads = 64, .kv_heads = 8, .eps = 1e-5};
  static constexpr config gguf_defaults{.vocab = 0,
                                        .dim = 0,
                                        .hidden = 0,
                                        .layers = 0,
                                        .heads = 0,
                                        .kv_heads = 0,
                                        .section_t = 0,
                                        .section_h = 0,
                                        .section_w = 0,
                                        .rope = {.theta = 1e4}};
  static constexpr std::array<relation<config>, 3> relations{multiple_of<&config::heads, &config::kv_heads>,
                                                             even<&config::head_dim>, key::sections_cover};
  static void to_gguf(const config& c, json, auto put) { put("rope.dimension_sections", sections_in_gguf(c)); }
};

}  // namespace cke

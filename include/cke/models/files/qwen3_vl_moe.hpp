// SPDX-License-Identifier: MIT
// qwen3_vl_moe.hpp: how files spell the decoder of Qwen3-VL with experts.
#pragma once

#include "../family.hpp"
#include "../image_keys.hpp"
#include "../qwen3_vl_moe.hpp"

namespace cke {

template <> struct family<"qwen3_vl_moe_text"> : experts_family<qwen3_vl_moe_config> {
  template <config C> using type = qwen3_vl_moe<C>;
  using key = image_keys<config>;
  using presets = list<Qwen3_VL_30B_A3B, Qwen3_VL_235B_A22B>;
  static constexpr std::string_view name = "qwen3_vl_moe_text", gguf_name = "qwen3vlmoe",
                                    type_name = "cke::qwen3_vl_moe";
  static constexpr config_key<config> keys[] = {
      key::vocab,
      key::dim,
      key::hidden,
      key::expert_hidden,
      key::layers,
      key::heads,
      key::kv_heads.null_means(0),
      key::head_dim,
      bind<&config::experts>(either("num_experts", "num_local_experts"), "expert_count").range(1, 4096),
      key::active,
      key::taps,
      key::section_t,
      key::section_h,
      key::section_w,
      bind<&config::dense>(numbers_of("mlp_only_layers")).range(0, layer_set::most),
      key::eps,
      key::tied,
      key::attention_bias,
      key::interleaved,
      key::rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}, {"decoder_sparse_step", "1"}};
  static constexpr config defaults{.vocab = 151936,
                                   .dim = 2048,
                                   .hidden = 5632,
                                   .expert_hidden = 1408,
                                   .layers = 24,
                                   .heads = 16,
                                   .kv_heads = 16,
                                   .head_dim = 0,
                                   .experts = 60,
                                   .active = 4,
                                   .taps = 0,
                                   .tied = true,
                                   .rope = {.theta = 5e5}};
  static constexpr config gguf_defaults{.vocab = 0,
                                        .dim = 0,
                                        .hidden = 0,
                                        .expert_hidden = 0,
                                        .layers = 0,
                                        .heads = 0,
                                        .kv_heads = 0,
                                        .head_dim = 0,
                                        .experts = 0,
                                        .active = 0,
                                        .taps = 0,
                                        .rope = {.theta = 1e4}};
  static constexpr config finish(config c) {
    c = usual_family::finish(c);
    c.dense = c.dense.first(c.layers);
    return c;
  }
  static constexpr std::array<relation<config>, 5> relations{
      multiple_of<&config::heads, &config::kv_heads>, even<&config::head_dim>,
      at_most<&config::active, &config::experts>, at_most<&config::taps, &config::layers>, key::sections_cover};
  static constexpr layer_matrices matrices(const config& c, u32 layer) {
    const layer_matrices all = layer_matrices{}.attention(c);
    return c.dense.has(layer) ? layer_matrices(all).mlp(c.hidden)
                              : layer_matrices(all).experts(c.experts, c.expert_hidden);
  }
  static void to_gguf(const config& c, json, auto put) { put("rope.dimension_sections", sections_in_gguf(c)); }

  // Hugging Face files hold the matrices of experts as (in, out), those of gate and up side by side.
  static constexpr auto names = expert_names +
      std::array{
          layer_name(role::gate_experts, part(0, exact("model.layers.{}.mlp.experts.gate_up_proj")),
                     "blk.{}.ffn_gate_exps")
              .in_hf(change::transposed),
          layer_name(role::up_experts, part(1, exact("model.layers.{}.mlp.experts.gate_up_proj")), "blk.{}.ffn_up_exps")
              .in_hf(change::transposed),
          layer_name(role::down_experts, exact("model.layers.{}.mlp.experts.down_proj"), "blk.{}.ffn_down_exps")
              .in_hf(change::transposed)};
};

}  // namespace cke

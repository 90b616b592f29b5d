// SPDX-License-Identifier: MIT
// gemma4.hpp: how files spell Gemma 4's tower.
#pragma once

#include "../../tower_family.hpp"
#include "../gemma4.hpp"

namespace cke {

// The bounds of a layer's matrices, in the order of the steps.
inline constexpr auto gemma4_bounds = [] {
  constexpr const char* hf[4][7]{
#define CKE_BOUNDS(which)                                                                       \
  "encoder.layers.{}.self_attn.q_proj." which, "encoder.layers.{}.self_attn.k_proj." which,     \
      "encoder.layers.{}.self_attn.v_proj." which, "encoder.layers.{}.self_attn.o_proj." which, \
      "encoder.layers.{}.mlp.gate_proj." which, "encoder.layers.{}.mlp.up_proj." which,         \
      "encoder.layers.{}.mlp.down_proj." which
      {CKE_BOUNDS("input_min")}, {CKE_BOUNDS("input_max")}, {CKE_BOUNDS("output_min")}, {CKE_BOUNDS("output_max")}
#undef CKE_BOUNDS
  };
  constexpr const char* gguf[4][7]{
#define CKE_BOUNDS(which)                                                                                   \
  "v.blk.{}.attn_q." which, "v.blk.{}.attn_k." which, "v.blk.{}.attn_v." which, "v.blk.{}.attn_out." which, \
      "v.blk.{}.ffn_gate." which, "v.blk.{}.ffn_up." which, "v.blk.{}.ffn_down." which
      {CKE_BOUNDS("input_min")}, {CKE_BOUNDS("input_max")}, {CKE_BOUNDS("output_min")}, {CKE_BOUNDS("output_max")}
#undef CKE_BOUNDS
  };
  constexpr role roles[]{role::input_min, role::input_max, role::output_min, role::output_max};
  std::array<name_rule, 28> all{};
  for (u8 i = 0; i < 28; ++i)
    all[i] = layer_name(roles[i / 7], i % 7, exact(hf[i / 7][i % 7]), exact(gguf[i / 7][i % 7]));
  return all;
}();

template <> struct family<"gemma4_vision"> : tower_family<gemma4_vision_config> {
  template <config C> using type = gemma4_vision<C>;
  using presets = list<Gemma_4_E2B_Vision>;
  static constexpr std::string_view name = "gemma4_vision", type_name = "cke::gemma4_vision";
  static constexpr config_key<config> keys[] = {
      key::dim,
      key::hidden,
      key::layers,
      key::heads,
      key::patch,
      bind<&config::kv_heads>("num_key_value_heads", "num_key_value_heads").range(1, 4096),
      bind<&config::head_dim>("head_dim", "head_dim").range(4, 1024),
      key::out,
      bind<&config::pooled>("pooling_kernel_size", "clip.vision.projector.scale_factor").range(1, 64),
      bind<&config::positions>("position_embedding_size", "position_embedding_size").range(1, 1 << 20),
      bind<&config::clipped>("use_clipped_linears", "use_clipped_linears"),
      bind<&config::standard>("standardize", "standardize"),
      bind<&config::eps>("rms_norm_eps", norm_eps_in_gguf).range(1e-12, 1e-1),
      bind<&config::theta>("rope_theta").range(1, 1e12)};
  static constexpr requirement must_be[] = {{"hidden_activation", "gelu_pytorch_tanh"}};
  static constexpr config defaults{}, gguf_defaults = said_in_gguf(defaults);
  static constexpr std::array<relation<config>, 2> relations{
      multiple_of<&config::heads, &config::kv_heads>,
      relation<config>{member_name<&config::head_dim>(), [](const config& c) { return c.head_dim % 4 == 0; },
                       "a multiple of 4"}};
  static constexpr u64 patch_numbers(const config& c) { return u64{3} * c.patch * c.patch; }
  static constexpr auto names = gemma4_bounds +
      std::array{header_name(role::patch, "patch_embedder.input_proj", "v.patch_embd"),
                 header_name(role::positions, exact("patch_embedder.position_embedding_table"), "v.position_embd"),
                 layer_name(role::norm, "encoder.layers.{}.input_layernorm", "v.blk.{}.ln1"),
                 layer_name(role::q, "encoder.layers.{}.self_attn.q_proj.linear", "v.blk.{}.attn_q"),
                 layer_name(role::k, "encoder.layers.{}.self_attn.k_proj.linear", "v.blk.{}.attn_k"),
                 layer_name(role::v, "encoder.layers.{}.self_attn.v_proj.linear", "v.blk.{}.attn_v"),
                 layer_name(role::q_norm, "encoder.layers.{}.self_attn.q_norm", "v.blk.{}.attn_q_norm"),
                 layer_name(role::k_norm, "encoder.layers.{}.self_attn.k_norm", "v.blk.{}.attn_k_norm"),
                 layer_name(role::o, "encoder.layers.{}.self_attn.o_proj.linear", "v.blk.{}.attn_out"),
                 layer_name(role::norm, 1, "encoder.layers.{}.post_attention_layernorm", "v.blk.{}.attn_post_norm"),
                 layer_name(role::norm, 2, "encoder.layers.{}.pre_feedforward_layernorm", "v.blk.{}.ln2"),
                 layer_name(role::gate, "encoder.layers.{}.mlp.gate_proj.linear", "v.blk.{}.ffn_gate"),
                 layer_name(role::up, "encoder.layers.{}.mlp.up_proj.linear", "v.blk.{}.ffn_up"),
                 layer_name(role::down, "encoder.layers.{}.mlp.down_proj.linear", "v.blk.{}.ffn_down"),
                 layer_name(role::norm, 3, "encoder.layers.{}.post_feedforward_layernorm", "v.blk.{}.ffn_post_norm"),
                 footer_name(role::std_bias, exact("std_bias"), exact("v.std_bias")),
                 footer_name(role::std_scale, exact("std_scale"), exact("v.std_scale")),
                 footer_name(role::projector_down, "embed_vision.embedding_projection", "mm.input_projection")};
};

}  // namespace cke

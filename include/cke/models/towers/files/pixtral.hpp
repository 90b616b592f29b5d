// SPDX-License-Identifier: MIT
// pixtral.hpp: how files spell the towers of Pixtral and Mistral 3.
#pragma once

#include "../../tower_family.hpp"
#include "../pixtral.hpp"

namespace cke {

// What the two share.
struct pixtral_family : tower_family<pixtral_vision_config> {
  static constexpr config_key<config>
      merge = bind<&config::merge>("spatial_merge_size", "clip.vision.spatial_merge_size").range(1, 64),
      norm_eps = bind<&config::eps>("text_config.rms_norm_eps", norm_eps_in_gguf).range(1e-12, 1e-1);
  static constexpr config_key<config> keys[] = {
      key::dim,
      key::hidden,
      key::layers,
      key::heads,
      key::patch,
      key::channels,
      merge,
      norm_eps,
      key::out,
      bind<&config::bias>("multimodal_projector_bias", "projector_bias"),
      bind<&config::theta>("rope_theta", "clip.rope.freq_base").range(1, 1e12),
      bind<&config::gelu>("hidden_act_is_gelu").shown()};
  static constexpr requirement must_be[] = {
      {"projector_hidden_act", "gelu"}, {"vision_feature_layer", "-1"}, {"vision_feature_select_strategy", "full"}};
  static constexpr std::array<relation<config>, 2> relations{
      multiple_of<&config::dim, &config::heads>,
      relation<config>{member_name<&config::heads>(), [](const config& c) { return c.dim / c.heads % 4 == 0; },
                       "heads of a multiple of 4 numbers, of", member_name<&config::dim>()}};
  // The reader puts the flag beside the word.
  static constexpr config_problem refuses(json root, naming, const config& c) {
    const json act = root["hidden_act"];
    if (!act.present() || c.gelu || act.text() == "silu") return {};
    return {trouble::unsupported, "hidden_act", act.s, 0, 0, "silu or gelu"};
  }
  static constexpr u64 patch_numbers(const config& c) { return u64{c.channels} * c.patch * c.patch; }
  static constexpr std::string_view unread[] = {"v.token_embd.img_break"};  // the text model has it, too
  static constexpr std::array shared_names{
      header_name(role::patch, "patch_conv", "v.patch_embd"),
      header_name(role::norm, "ln_pre", "v.pre_ln"),
      layer_name(role::norm, "transformer.layers.{}.attention_norm", "v.blk.{}.ln1"),
      layer_name(role::q, "transformer.layers.{}.attention.q_proj", "v.blk.{}.attn_q").in_gguf(change::paired_heads),
      layer_name(role::k, "transformer.layers.{}.attention.k_proj", "v.blk.{}.attn_k").in_gguf(change::paired_heads),
      layer_name(role::v, "transformer.layers.{}.attention.v_proj", "v.blk.{}.attn_v"),
      layer_name(role::o, "transformer.layers.{}.attention.o_proj", "v.blk.{}.attn_out"),
      layer_name(role::norm, 1, "transformer.layers.{}.ffn_norm", "v.blk.{}.ln2"),
      layer_name(role::gate, "transformer.layers.{}.feed_forward.gate_proj", "v.blk.{}.ffn_gate"),
      layer_name(role::up, "transformer.layers.{}.feed_forward.up_proj", "v.blk.{}.ffn_up"),
      layer_name(role::down, "transformer.layers.{}.feed_forward.down_proj", "v.blk.{}.ffn_down"),
      footer_name(role::projector_up, "multi_modal_projector.linear_1", "mm.1")};
};

template <> struct family<"pixtral_vision"> : pixtral_family {
  template <config C> using type = pixtral_vision<C>;
  using presets = list<Pixtral_12B_Vision>;
  static constexpr std::string_view name = "pixtral_vision", type_name = "cke::pixtral_vision";
  static constexpr config defaults{.out = 4096}, gguf_defaults = said_in_gguf(defaults);
  static constexpr auto names =
      shared_names + std::array{footer_name(role::projector_down, "multi_modal_projector.linear_2", "mm.2")};
};

template <> struct family<"mistral3_vision"> : pixtral_family {
  template <config C> using type = mistral3_vision<C>;
  using presets = list<Mistral_Small_3_1_Vision>;
  static constexpr std::string_view name = "mistral3_vision", type_name = "cke::mistral3_vision";
  static constexpr config defaults{.patch = 14, .bias = false, .merge = 2};
  static constexpr config gguf_defaults = said_in_gguf(defaults);
  static constexpr auto names = shared_names +
      std::array{
          footer_name(role::norm, "multi_modal_projector.norm", "mm.input_norm"),
          footer_name(role::projector_down, "multi_modal_projector.patch_merger.merging_layer", "mm.patch_merger"),
          footer_name(role::projector_down, 1, "multi_modal_projector.linear_2", "mm.2")};
};

}  // namespace cke

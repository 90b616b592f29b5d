// SPDX-License-Identifier: MIT
// qwen2_5_vl.hpp: how files spell Qwen2.5-VL's tower.
#pragma once

#include "../../tower_family.hpp"
#include "../qwen2_5_vl.hpp"

namespace cke {

template <> struct family<"qwen2_5_vl_vision"> : tower_family<qwen2_5_vl_vision_config> {
  template <config C> using type = qwen2_5_vl_vision<C>;
  using presets = list<Qwen2_5_VL_3B_Vision, Qwen2_5_VL_7B_Vision>;
  static constexpr std::string_view name = "qwen2_5_vl_vision", type_name = "cke::qwen2_5_vl_vision";
  static constexpr config_key<config> keys[] = {
      key::dim,
      key::hidden,
      key::layers,
      key::heads,
      key::patch,
      bind<&config::channels>(either("in_channels", "in_chans")).range(1, 64),
      bind<&config::out>("out_hidden_size", "clip.vision.projection_dim").range(1, 1 << 20),
      bind<&config::frames>("temporal_patch_size").range(1, 64),
      bind<&config::merge>("spatial_merge_size", "clip.vision.spatial_merge_size").range(1, 64),
      bind<&config::window>("window_size", "clip.vision.window_size").range(1, 1 << 14),
      bind<&config::full>(numbers_of("fullatt_block_indexes"), numbers_of("fullatt_block_indexes"))
          .range(0, layer_set::most),
      bind<&config::theta>("rope_theta").range(1, 1e12)};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}};
  static constexpr config defaults{}, gguf_defaults = said_in_gguf(defaults);
  static constexpr std::array<relation<config>, 3> relations{
      multiple_of<&config::dim, &config::heads>,
      relation<config>{member_name<&config::heads>(), [](const config& c) { return c.dim / c.heads % 4 == 0; },
                       "heads of a multiple of 4 numbers, of", member_name<&config::dim>()},
      relation<config>{member_name<&config::window>(),
                       [](const config& c) { return c.window >= u64{c.merge} * c.patch; },
                       "at least spatial_merge_size times", member_name<&config::patch>()}};
  static constexpr u64 patch_numbers(const config& c) { return u64{c.channels} * c.frames * c.patch * c.patch; }
  static constexpr auto names = std::array{header_name(role::patch, "patch_embed.proj", "v.patch_embd"),
                                           layer_name(role::norm, "blocks.{}.norm1", "v.blk.{}.ln1"),
                                           layer_name(role::q, part(0, "blocks.{}.attn.qkv"), "v.blk.{}.attn_q"),
                                           layer_name(role::k, part(1, "blocks.{}.attn.qkv"), "v.blk.{}.attn_k"),
                                           layer_name(role::v, part(2, "blocks.{}.attn.qkv"), "v.blk.{}.attn_v"),
                                           layer_name(role::o, "blocks.{}.attn.proj", "v.blk.{}.attn_out"),
                                           layer_name(role::norm, 1, "blocks.{}.norm2", "v.blk.{}.ln2"),
                                           layer_name(role::gate, "blocks.{}.mlp.gate_proj", "v.blk.{}.ffn_gate"),
                                           layer_name(role::up, "blocks.{}.mlp.up_proj", "v.blk.{}.ffn_up"),
                                           layer_name(role::down, "blocks.{}.mlp.down_proj", "v.blk.{}.ffn_down"),
                                           footer_name(role::norm, "merger.ln_q", "v.post_ln"),
                                           footer_name(role::projector_up, "merger.mlp.0", "mm.0"),
                                           footer_name(role::projector_down, "merger.mlp.2", "mm.2")};
};

}  // namespace cke

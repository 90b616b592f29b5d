// SPDX-License-Identifier: MIT
// qwen3_vl.hpp: how files spell Qwen3-VL's tower.
#pragma once

#include "../../tower_family.hpp"
#include "../qwen3_vl.hpp"

namespace cke {

template <> struct family<"qwen3_vl_vision"> : tower_family<qwen3_vl_vision_config> {
  template <config C> using type = qwen3_vl_vision<C>;
  using presets = list<Qwen3_VL_2B_Vision, Qwen3_VL_4B_Vision, Qwen3_VL_8B_Vision>;
  static constexpr std::string_view name = "qwen3_vl_vision", type_name = "cke::qwen3_vl_vision";
  static constexpr config_key<config> keys[] = {
      key::dim,
      key::hidden,
      key::layers,
      key::heads,
      key::channels,
      key::patch,
      bind<&config::out>("out_hidden_size", "clip.vision.projection_dim").range(1, 1 << 20),
      bind<&config::frames>("temporal_patch_size").range(1, 64),
      bind<&config::merge>("spatial_merge_size", "clip.vision.spatial_merge_size").range(1, 64),
      bind<&config::positions>("num_position_embeddings", "num_position_embeddings").range(1, 1 << 20),
      bind<&config::deepstack>(numbers_of("deepstack_visual_indexes"), "clip.vision.is_deepstack_layers")
          .range(0, layer_set::most),
      bind<&config::theta>("rope_theta").range(1, 1e12)};
  static constexpr requirement must_be[] = {{"hidden_act", "gelu_pytorch_tanh"}};
  static constexpr config defaults{};
  static constexpr config gguf_defaults = said_in_gguf(config{.deepstack = {}});
  static constexpr std::array<relation<config>, 3> relations{
      multiple_of<&config::dim, &config::heads>,
      relation<config>{member_name<&config::heads>(), [](const config& c) { return c.dim / c.heads % 4 == 0; },
                       "heads of a multiple of 4 numbers, of", member_name<&config::dim>()},
      relation<config>{member_name<&config::positions>(),
                       [](const config& c) { return whole_root(c.positions) * whole_root(c.positions) == c.positions; },
                       "a square number"}};
  static constexpr u64 patch_numbers(const config& c) { return u64{c.channels} * c.frames * c.patch * c.patch; }
  static constexpr auto names =
      std::array{header_name(role::patch, "patch_embed.proj", "v.patch_embd"),
                 header_name(role::positions, "pos_embed", "v.position_embd"),
                 layer_name(role::norm, "blocks.{}.norm1", "v.blk.{}.ln1"),
                 layer_name(role::q, part(0, "blocks.{}.attn.qkv"), part(0, "v.blk.{}.attn_qkv")),
                 layer_name(role::k, part(1, "blocks.{}.attn.qkv"), part(1, "v.blk.{}.attn_qkv")),
                 layer_name(role::v, part(2, "blocks.{}.attn.qkv"), part(2, "v.blk.{}.attn_qkv")),
                 layer_name(role::o, "blocks.{}.attn.proj", "v.blk.{}.attn_out"),
                 layer_name(role::norm, 1, "blocks.{}.norm2", "v.blk.{}.ln2"),
                 layer_name(role::up, "blocks.{}.mlp.linear_fc1", "v.blk.{}.ffn_up"),
                 layer_name(role::down, "blocks.{}.mlp.linear_fc2", "v.blk.{}.ffn_down"),
                 layer_name(role::norm, 2, by_tap("deepstack_merger_list.{}.norm"), "v.deepstack.{}.norm"),
                 layer_name(role::projector_up, by_tap("deepstack_merger_list.{}.linear_fc1"), "v.deepstack.{}.fc1"),
                 layer_name(role::projector_down, by_tap("deepstack_merger_list.{}.linear_fc2"), "v.deepstack.{}.fc2"),
                 footer_name(role::norm, "merger.norm", "v.post_ln"),
                 footer_name(role::projector_up, "merger.linear_fc1", "mm.0"),
                 footer_name(role::projector_down, "merger.linear_fc2", "mm.2")};
};

}  // namespace cke

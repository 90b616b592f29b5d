// SPDX-License-Identifier: MIT
// siglip.hpp: how files spell SigLIP's towers.
#pragma once

#include "../../tower_family.hpp"
#include "../siglip.hpp"

namespace cke {

// The tensors of a ViT as SigLIP names them.
inline constexpr std::array siglip_layer_names{
    header_name(role::positions, "embeddings.position_embedding", "v.position_embd"),
    layer_name(role::norm, "encoder.layers.{}.layer_norm1", "v.blk.{}.ln1"),
    layer_name(role::q, "encoder.layers.{}.self_attn.q_proj", "v.blk.{}.attn_q"),
    layer_name(role::k, "encoder.layers.{}.self_attn.k_proj", "v.blk.{}.attn_k"),
    layer_name(role::v, "encoder.layers.{}.self_attn.v_proj", "v.blk.{}.attn_v"),
    layer_name(role::o, "encoder.layers.{}.self_attn.out_proj", "v.blk.{}.attn_out"),
    layer_name(role::norm, 1, "encoder.layers.{}.layer_norm2", "v.blk.{}.ln2"),
    layer_name(role::up, "encoder.layers.{}.mlp.fc1", "v.blk.{}.ffn_up"),
    layer_name(role::down, "encoder.layers.{}.mlp.fc2", "v.blk.{}.ffn_down")};
inline constexpr auto siglip_names = siglip_layer_names +
    std::array{header_name(role::patch, "embeddings.patch_embedding", "v.patch_embd"),
               footer_name(role::norm, "post_layernorm", "v.post_ln")};

// torch packs q, k and v of the head.
inline constexpr auto siglip_pooled_names = siglip_names +
    std::array{footer_name(role::probe, exact("head.probe"), {}),
               footer_name(role::q, part(0, underscored("head.attention.in_proj")), {}),
               footer_name(role::k, part(1, underscored("head.attention.in_proj")), {}),
               footer_name(role::v, part(2, underscored("head.attention.in_proj")), {}),
               footer_name(role::o, "head.attention.out_proj", {}),
               footer_name(role::norm, 1, "head.layernorm", {}),
               footer_name(role::up, "head.mlp.fc1", {}),
               footer_name(role::down, "head.mlp.fc2", {})};

struct siglip_tower_family : tower_family<siglip_vision_config> {
  static constexpr config_key<config> keys[] = {key::dim,   key::hidden, key::layers,   key::heads,
                                                key::image, key::patch,  key::channels, key::eps};
  static constexpr requirement must_be[] = {{"hidden_act", "gelu_pytorch_tanh"}};
  static constexpr config defaults{};
  static constexpr std::array<relation<config>, 2> relations{multiple_of<&config::dim, &config::heads>,
                                                             at_most<&config::patch, &config::image>};
  static constexpr u64 patch_numbers(const config& c) { return u64{c.channels} * c.patch * c.patch; }
};
template <> struct family<"siglip_vision_model"> : siglip_tower_family {
  template <config C> using type = siglip_vision<C>;
  using presets = list<SigLIP_Base_16_224, SigLIP_So400m_14_384>;
  static constexpr std::string_view name = "siglip_vision_model", type_name = "cke::siglip_vision";
  static constexpr auto names = siglip_names;
  static constexpr std::string_view unread[] = {"head."};  // the pooling head
};
template <> struct family<"siglip_pooled"> : siglip_tower_family {
  template <config C> using type = siglip_pooled<C>;
  using presets = list<>;
  static constexpr std::string_view name = "siglip_pooled", type_name = "cke::siglip_pooled";
  static constexpr auto names = siglip_pooled_names;
};
template <> struct family<"siglip_text"> : tower_family<siglip_text_config> {
  template <config C> using type = siglip_text<C>;
  using presets = list<>;
  static constexpr std::string_view name = "siglip_text", type_name = "cke::siglip_text";
  static constexpr config_key<config> keys[] = {bind<&config::vocab>("vocab_size").range(1, 1 << 24),
                                                key::dim,
                                                key::hidden,
                                                key::layers,
                                                key::heads,
                                                bind<&config::positions>("max_position_embeddings").range(1, 4096),
                                                bind<&config::out>("projection_size").range(0, 1 << 20),
                                                key::eps};
  static constexpr requirement must_be[] = {{"hidden_act", "gelu_pytorch_tanh"}};
  static constexpr config defaults{};
  static constexpr std::array<relation<config>, 1> relations{multiple_of<&config::dim, &config::heads>};
  static constexpr auto names = siglip_layer_names +
      std::array{header_name(role::embed, "embeddings.token_embedding", {}),
                 footer_name(role::norm, "final_layer_norm", {}), footer_name(role::projector_down, "head", {})};
};

}  // namespace cke

// SPDX-License-Identifier: MIT
// siglip.hpp: SigLIP: a ViT with learned positions for square images of one size, and a tower of texts. The pooled row
// of an image and that of a text say how well the two fit (cke/similarity.hpp).
#pragma once

#include "../card.hpp"
// clang-format off
namespace cke {

struct siglip_vision_config {
  u32 dim = 768, hidden = 3072, layers = 12, heads = 12, image = 224, patch = 16, channels = 3;
  real eps = 1e-6;
  constexpr u32 rows() const { return (image / patch) * (image / patch); }
};

// The layers of a pre-norm ViT, which other towers share.
template <class Norm, class Attention, class Mlp> using vit_block = block<
    residual<Norm, Attention>, residual<Norm, Mlp>>;
constexpr attention_options vit_attend(const auto& c, rotary rope) {
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.heads, .head_dim = c.dim / c.heads, .rope = rope,
          .qkv_bias = true, .out_bias = true, .bidirectional = true};
}

template <auto C> struct siglip_layers {
  using type = stack<C.layers, vit_block<layer_norm<C.dim, C.eps>, attention<vit_attend(C, rotary{})>,
                                         plain_mlp<C.dim, C.hidden, activation::gelu_tanh, true>>>;
};
template <siglip_vision_config C> struct siglip_vision : tower<
    patch_embedding<C.channels * C.patch * C.patch, C.dim, true>,
    learned_positions<C.dim, C.rows(), position_rule::raster>,
    typename siglip_layers<C>::type,
    layer_norm<C.dim, C.eps>> {
  using family = cke::family<"siglip_vision_model">;
  static constexpr siglip_vision_config config = C;
};

// The same, and its pooling head: one row for an image, to be compared with those of texts.
template <siglip_vision_config C> struct siglip_pooled : tower<
    patch_embedding<C.channels * C.patch * C.patch, C.dim, true>,
    learned_positions<C.dim, C.rows(), position_rule::raster>,
    typename siglip_layers<C>::type,
    layer_norm<C.dim, C.eps>,
    attention_pool<C.dim, C.heads, C.rows(), C.hidden, activation::gelu_tanh, C.eps>> {
  using family = cke::family<"siglip_pooled">;
  static constexpr siglip_vision_config config = C;
};

struct siglip_text_config {
  u32 vocab = 32000, dim = 768, hidden = 3072, layers = 12, heads = 12, positions = 64;
  u32 out{};  // 0: dim
  real eps = 1e-6;
};

// Texts are padded to `positions` ids, and the row of the last one stands for all.
template <siglip_text_config C> struct siglip_text : tower<
    embedding<C.vocab, C.dim>,
    learned_positions<C.dim, C.positions, position_rule::sequence>,
    typename siglip_layers<C>::type,
    layer_norm<C.dim, C.eps>,
    last_row<C.dim, C.positions>,
    projector<C.dim, 0, C.out ? C.out : C.dim, activation::silu, true>> {
  using family = cke::family<"siglip_text">;
  static constexpr siglip_text_config config = C;
};

struct SigLIP_Base_16_224 : siglip_vision<siglip_vision_config{}> {};
struct SigLIP_So400m_14_384 : siglip_vision<siglip_vision_config{
    .dim = 1152, .hidden = 4304, .layers = 27, .heads = 16, .image = 384, .patch = 14}> {};

}  // namespace cke

#include "files/siglip.hpp"

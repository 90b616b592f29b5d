// SPDX-License-Identifier: MIT
// qwen3_vl.hpp: Qwen3-VL's tower: images of any size, positions between those of a table and by rope,
// squares of patches merged; the decoder also takes the features of some layers (deepstack).
#pragma once

#include "siglip.hpp"
// clang-format off
namespace cke {

struct qwen3_vl_vision_config {
  u32 dim = 1152, hidden = 4304, layers = 27, heads = 16, out = 3584;
  u32 channels = 3, frames = 2, patch = 16, merge = 2, positions = 2304;
  layer_set deepstack = layer_set::of({8, 16, 24});
  real theta = 1e4;
};

template <qwen3_vl_vision_config C> struct qwen3_vl_tower {
  static constexpr u32 square = C.merge * C.merge, wide = square * C.dim;
  static constexpr real eps = 1e-6;
  static constexpr attention_options attend = vit_attend(
      C, {.dims = C.dim / C.heads, .theta = C.theta, .axes = rope_axes::row_column});

  using layer = vit_block<layer_norm<C.dim, eps>, attention<attend>,
                          plain_mlp<C.dim, C.hidden, activation::gelu_tanh, true>>;
  using merger = projector<wide, wide, C.out, activation::gelu_erf, true>;
  using tapped_layer = block<layer, deepstack<spatial_merge<C.dim, square>, layer_norm<wide, eps>, merger>>;
  using type = tower<
      patch_embedding<C.channels * C.frames * C.patch * C.patch, C.dim, true>,
      learned_positions<C.dim, C.positions, position_rule::bilinear>,
      arrange<order_of<C.layers>(C.deepstack), layer, tapped_layer>,
      layer_norm<C.dim, eps>, spatial_merge<C.dim, square>, merger>;
};
template <qwen3_vl_vision_config C> struct qwen3_vl_vision : qwen3_vl_tower<C>::type {
  using family = cke::family<"qwen3_vl_vision">;
  static constexpr qwen3_vl_vision_config config = C;
};

struct Qwen3_VL_2B_Vision : qwen3_vl_vision<qwen3_vl_vision_config{
    .dim = 1024, .hidden = 4096, .layers = 24, .out = 2048, .deepstack = layer_set::of({5, 11, 17})}> {};
struct Qwen3_VL_4B_Vision : qwen3_vl_vision<qwen3_vl_vision_config{
    .dim = 1024, .hidden = 4096, .layers = 24, .out = 2560, .deepstack = layer_set::of({5, 11, 17})}> {};
struct Qwen3_VL_8B_Vision : qwen3_vl_vision<qwen3_vl_vision_config{.out = 4096}> {};

}  // namespace cke

#include "files/qwen3_vl.hpp"

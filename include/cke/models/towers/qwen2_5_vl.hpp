// SPDX-License-Identifier: MIT
// qwen2_5_vl.hpp: Qwen2.5-VL's tower: images of any size, positions by rope, most layers see windows of patches.
#pragma once

#include "siglip.hpp"
// clang-format off
namespace cke {

struct qwen2_5_vl_vision_config {
  u32 dim = 3584, hidden = 3420, layers = 32, heads = 16, out = 3584;
  u32 channels = 3, frames = 2, patch = 14, merge = 2, window = 112;  // window: in pixels
  layer_set full = layer_set::of({7, 15, 23, 31});
  real theta = 1e4;
};

template <qwen2_5_vl_vision_config C> struct qwen2_5_vl_tower {
  static constexpr u32 square = C.merge * C.merge, wide = square * C.dim;
  static constexpr real eps = 1e-6;
  static constexpr attention_options attend(u32 window) {
    attention_options all = vit_attend(
        C, {.dims = C.dim / C.heads, .theta = C.theta, .axes = rope_axes::row_column});
    all.window = window;
    return all;
  }
  using norm = rms_norm<C.dim, eps>;
  template <u32 Window> using layer = vit_block<norm, attention<attend(Window)>,
                                                gated_mlp<C.dim, C.hidden, activation::silu, true>>;
  using type = tower<
      patch_embedding<C.channels * C.frames * C.patch * C.patch, C.dim, false>,
      arrange<order_of<C.layers>(C.full), layer<C.window / C.merge / C.patch * C.merge>, layer<everything>>,
      norm, spatial_merge<C.dim, square>, projector<wide, wide, C.out, activation::gelu_erf, true>>;
};
template <qwen2_5_vl_vision_config C> struct qwen2_5_vl_vision : qwen2_5_vl_tower<C>::type {
  using family = cke::family<"qwen2_5_vl_vision">;
  static constexpr qwen2_5_vl_vision_config config = C;
};

struct Qwen2_5_VL_3B_Vision : qwen2_5_vl_vision<qwen2_5_vl_vision_config{.dim = 1280, .out = 2048}> {};
struct Qwen2_5_VL_7B_Vision : qwen2_5_vl_vision<qwen2_5_vl_vision_config{.dim = 1280}> {};

}  // namespace cke

#include "files/qwen2_5_vl.hpp"

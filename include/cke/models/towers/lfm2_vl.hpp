// SPDX-License-Identifier: MIT
// lfm2_vl.hpp: LFM2-VL's tower: SigLIP 2 for tiles of any size, whose table of positions is resized to them; squares of
// patches are merged.
#pragma once

#include "siglip.hpp"
// clang-format off
namespace cke {

struct lfm2_vl_vision_config {
  u32 dim = 768, hidden = 3072, layers = 12, heads = 12, patch = 16, channels = 3, positions = 256;
  u32 merge = 2, projected = 2560, out = 2560;  // side of a square of patches; widths of the projector
  bool bias = true, normed = true;              // of the projector; its input
  real eps = 1e-6;
};

template <lfm2_vl_vision_config C> struct lfm2_vl_tower {
  static constexpr u32 wide = C.merge * C.merge * C.dim;
  using merger = spatial_merge<C.dim, C.merge * C.merge>;
  using type = tower<
      patch_embedding<C.channels * C.patch * C.patch, C.dim, true>,
      learned_positions<C.dim, C.positions, position_rule::resized>,
      stack<C.layers, vit_block<layer_norm<C.dim, C.eps>, attention<vit_attend(C, rotary{})>,
                                plain_mlp<C.dim, C.hidden, activation::gelu_tanh, true>>>,
      layer_norm<C.dim, C.eps>,
      std::conditional_t<C.normed, chain<merger, layer_norm<wide, 1e-5>>, merger>,
      projector<wide, C.projected, C.out, activation::gelu_erf, C.bias>>;
};
template <lfm2_vl_vision_config C> struct lfm2_vl_vision : lfm2_vl_tower<C>::type {
  using family = cke::family<"lfm2_vl_vision">;
  static constexpr lfm2_vl_vision_config config = C;
};

struct LFM2_VL_450M_Vision : lfm2_vl_vision<lfm2_vl_vision_config{.out = 1024}> {};

}  // namespace cke

#include "files/lfm2_vl.hpp"

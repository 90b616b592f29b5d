// SPDX-License-Identifier: MIT
// idefics3.hpp: the tower of Idefics 3 and SmolVLM: SigLIP's for square tiles, of which squares of patches are merged.
#pragma once

#include "siglip.hpp"
// clang-format off
namespace cke {

struct idefics3_vision_config {
  u32 dim = 1152, hidden = 3072, layers = 12, heads = 16, image = 224, patch = 32, channels = 3;
  u32 merge = 2, out = 4096;  // merge: side of a square of patches; width of the text model
  real eps = 1e-6;
};

template <idefics3_vision_config C> struct idefics3_vision : tower<
    patch_embedding<C.channels * C.patch * C.patch, C.dim, true>,
    learned_positions<C.dim, (C.image / C.patch) * (C.image / C.patch), position_rule::bucketed>,
    stack<C.layers, vit_block<layer_norm<C.dim, C.eps>, attention<vit_attend(C, rotary{})>,
                              plain_mlp<C.dim, C.hidden, activation::gelu_tanh, true>>>,
    layer_norm<C.dim, C.eps>, spatial_merge<C.dim, C.merge * C.merge>,
    projector<C.merge * C.merge * C.dim, 0, C.out, activation::gelu_erf, false>> {
  using family = cke::family<"idefics3_vision">;
  static constexpr idefics3_vision_config config = C;
};

struct SmolVLM2_500M_Vision : idefics3_vision<idefics3_vision_config{
    .dim = 768, .heads = 12, .image = 512, .patch = 16, .merge = 4, .out = 960}> {};

}  // namespace cke

#include "files/idefics3.hpp"

// SPDX-License-Identifier: MIT
// gemma3.hpp: Gemma 3's tower: SigLIP's, of which squares of patches are pooled, normed and projected.
#pragma once

#include "siglip.hpp"
// clang-format off
namespace cke {

struct gemma3_vision_config {
  u32 dim = 768, hidden = 3072, layers = 12, heads = 12, image = 224, patch = 16, channels = 3;
  u32 tokens = 256, out = 2304;  // of an image, width of the text model
  real eps = 1e-6;
  // How many rows of an image's square of tokens, and of a token's square of patches.
  constexpr u32 rows() const { return whole_root(tokens); }
  constexpr u32 pooled() const { return image / patch / rows(); }
};

template <gemma3_vision_config C> struct gemma3_vision : tower<
    patch_embedding<C.channels * C.patch * C.patch, C.dim, true>,
    learned_positions<C.dim, (C.image / C.patch) * (C.image / C.patch), position_rule::raster>,
    stack<C.layers, vit_block<layer_norm<C.dim, C.eps>, attention<vit_attend(C, rotary{})>,
                              plain_mlp<C.dim, C.hidden, activation::gelu_tanh, true>>>,
    layer_norm<C.dim, C.eps>,
    average_pool<C.dim, C.pooled() * C.pooled()>, rms_norm<C.dim, C.eps, 1.0>,
    projector<C.dim, 0, C.out, activation::gelu_tanh, false>> {
  using family = cke::family<"gemma3_vision">;
  static constexpr gemma3_vision_config config = C;
};

struct Gemma_3_4B_Vision : gemma3_vision<gemma3_vision_config{
    .dim = 1152, .hidden = 4304, .layers = 27, .heads = 16, .image = 896, .patch = 14, .out = 2560}> {};

}  // namespace cke

#include "files/gemma3.hpp"

// SPDX-License-Identifier: MIT
// pixtral.hpp: the towers of Pixtral and Mistral 3: images of any size, positions by rope. Mistral 3 merges squares of
// patches.
#pragma once

#include "siglip.hpp"
// clang-format off
namespace cke {

struct pixtral_vision_config {
  u32 dim = 1024, hidden = 4096, layers = 24, heads = 16, patch = 16, channels = 3;
  u32 out = 5120;        // width of the text model
  bool bias = true;      // of the projector
  u32 merge = 1;         // Mistral 3: side of a square of patches
  real eps = 1e-5;       // ... and of the norm before them
  real theta = 1e4;
  bool gelu{};           // the activation of its mlps; otherwise silu
};

template <pixtral_vision_config C> struct pixtral_tower {
  static constexpr u32 square = C.merge * C.merge;
  static constexpr attention_options attend = {
      .dim = C.dim, .heads = C.heads, .kv_heads = C.heads, .head_dim = C.dim / C.heads,
      .rope = {.dims = C.dim / C.heads, .theta = C.theta, .axes = rope_axes::alternate}, .bidirectional = true};

  using norm = rms_norm<C.dim, 1e-5>;
  static constexpr activation act = C.gelu ? activation::gelu_erf : activation::silu;
  using layer = vit_block<norm, attention<attend>, gated_mlp<C.dim, C.hidden, act>>;
  using to_text = projector<C.dim, C.out, C.out, activation::gelu_erf, C.bias>;
  template <class... Last> using type = tower<
      patch_embedding<C.channels * C.patch * C.patch, C.dim, false>, norm, stack<C.layers, layer>, Last..., to_text>;
};
template <pixtral_vision_config C> struct pixtral_vision : pixtral_tower<C>::template type<> {
  using family = cke::family<"pixtral_vision">;
  static constexpr pixtral_vision_config config = C;
};
template <pixtral_vision_config C, class T = pixtral_tower<C>> struct mistral3_vision : T::template type<
    rms_norm<C.dim, C.eps>, spatial_merge<C.dim, T::square, true>,
    projector<T::square * C.dim, 0, C.dim, activation::gelu_erf, false>> {
  using family = cke::family<"mistral3_vision">;
  static constexpr pixtral_vision_config config = C;
};

struct Pixtral_12B_Vision : pixtral_vision<pixtral_vision_config{}> {};
struct Mistral_Small_3_1_Vision : mistral3_vision<pixtral_vision_config{.patch = 14, .bias = false, .merge = 2}> {};

}  // namespace cke

#include "files/pixtral.hpp"

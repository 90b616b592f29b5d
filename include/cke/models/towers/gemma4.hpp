// SPDX-License-Identifier: MIT
// gemma4.hpp: Gemma 4's tower: images of any size, positions by row and column, both learned and as a rope; squares of
// patches are pooled.
#pragma once

#include "siglip.hpp"
// clang-format off
namespace cke {

struct gemma4_vision_config {
  u32 dim = 768, hidden = 3072, layers = 16, heads = 12, kv_heads = 12, head_dim = 64, out = 2304;
  u32 patch = 16, pooled = 3, positions = 10240;  // pooled: side of a token's square of patches; positions of an axis
  bool clipped = false, standard = false;
  real eps = 1e-6, theta = 100;
};

template <gemma4_vision_config C> struct gemma4_tower {
  static constexpr u32 numbers = 3 * C.patch * C.patch;
  static constexpr attention_options attend = {
      .dim = C.dim, .heads = C.heads, .kv_heads = C.kv_heads, .head_dim = C.head_dim,
      .rope = {.dims = C.head_dim, .theta = C.theta, .pairs = pairing::split_halves, .axes = rope_axes::column_row},
      .qk_norm = {C.eps}, .v_norm = {C.eps}, .scale = 1, .clipped = C.clipped, .bidirectional = true};

  using norm = rms_norm<C.dim, C.eps>;
  using mlp = std::conditional_t<C.clipped, clipped_mlp<C.dim, C.hidden, activation::gelu_tanh>,
                                 gated_mlp<C.dim, C.hidden, activation::gelu_tanh>>;
  using layer = block<residual<norm, attention<attend>, norm>, residual<norm, mlp, norm>>;
  using pool = chain<average_pool<C.dim, C.pooled * C.pooled>, scale<C.dim, root(C.dim)>>;
  using type = tower<
      affine<numbers, 2.0, -1.0>, patch_embedding<numbers, C.dim, false>,
      learned_positions<C.dim, 2 * C.positions, position_rule::by_axis>,
      stack<C.layers, layer>,
      std::conditional_t<C.standard, chain<pool, standardise<C.dim>>, pool>,
      unit_rms_norm<C.dim, C.eps>, projector<C.dim, 0, C.out, activation::gelu_tanh, false>>;
};
template <gemma4_vision_config C> struct gemma4_vision : gemma4_tower<C>::type {
  using family = cke::family<"gemma4_vision">;
  static constexpr gemma4_vision_config config = C;
};

struct Gemma_4_E2B_Vision : gemma4_vision<gemma4_vision_config{.out = 1536, .clipped = true}> {};

}  // namespace cke

#include "files/gemma4.hpp"

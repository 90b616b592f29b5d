// SPDX-License-Identifier: MIT
// gemma3.hpp: Gemma 3: five sliding layers, then a full one, each sort with a rope of its own. With images, the rows of
// one see each other. Its tower: towers/gemma3.hpp.
#pragma once

#include "gemma2.hpp"
// clang-format off
namespace cke {

struct gemma3_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads, head_dim = 256, window = 512;
  layer_set sliding = layer_set::all_but_every(6);
  real eps = 1e-6, query_scalar = 256;
  bool tied = true, images{};
  rotary rope{.theta = 1e6}, local_rope{.theta = 1e4};
};

constexpr attention_options gemma3_attend(const gemma3_config& c, bool slides) {
  rotary rope = slides ? c.local_rope : c.rope;
  rope.dims = c.head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = c.head_dim, .rope = rope,
          .qk_norm = {c.eps, 1},
          .window = slides ? c.window : everything, .scale = 1 / root(c.query_scalar.v),
          .sees_image = c.images};
}

template <gemma3_config C, bool Slides> using gemma3_layer = block<
    residual<rms_norm<C.dim, C.eps, 1>, attention<gemma3_attend(C, Slides)>, rms_norm<C.dim, C.eps, 1>>,
    residual<rms_norm<C.dim, C.eps, 1>, gated_mlp<C.dim, C.hidden, activation::gelu_tanh>, rms_norm<C.dim, C.eps, 1>>>;

template <gemma3_config C> struct gemma3 : network<
    embedding<C.vocab, C.dim>,
    scale<C.dim, root(C.dim)>,
    image_rows<C.dim, 0, 0, C.images>,
    arrange<order_of<C.layers>(C.sliding), gemma3_layer<C, false>, gemma3_layer<C, true>>,
    rms_norm<C.dim, C.eps, 1>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"gemma3_text">;
  static constexpr gemma3_config config = C;
};

struct Gemma_3_270M : gemma3<gemma3_config{
    .vocab = 262144, .dim = 640, .hidden = 2048, .layers = 18, .heads = 4, .kv_heads = 1}> {};
struct Gemma_3_1B : gemma3<gemma3_config{
    .vocab = 262144, .dim = 1152, .hidden = 6912, .layers = 26, .heads = 4, .kv_heads = 1}> {};
struct Gemma_3_4B : gemma3<gemma3_config{
    .vocab = 262208, .dim = 2560, .hidden = 10240, .layers = 34, .heads = 8, .kv_heads = 4, .window = 1024,
    .rope = {.theta = 1e6, .rule = rope_scaling::linear, .factor = 8}}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/gemma3.hpp"
#endif

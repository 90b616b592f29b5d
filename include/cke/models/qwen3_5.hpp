// SPDX-License-Identifier: MIT
// qwen3_5.hpp: Qwen3.5 (dense): three gated delta nets, then a layer of attention with an output gate. With images, the
// rope turns by time, row and column. Its tower: towers/qwen3_5.hpp.
#pragma once

#include "card.hpp"
// clang-format off
namespace cke {

struct qwen3_5_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads, head_dim = 256;
  u32 key_heads = 16, value_heads = 16, key_dim = 128, value_dim = 128, taps = 4;  // of linear attention
  bool tiled{};  // GGUF files keep its value heads in another order
  layer_set linear = layer_set::all_but_every(4);
  real eps = 1e-6;
  bool tied{};
  rotary rope{.theta = 1e7};  // dims 0: a quarter of head_dim
  bool images{};
  u32 section_t = 11, section_h = 11, section_w = 10;  // with images: frequencies that each axis turns
};

// A mixture of experts and Qwen3-Next use this too.
constexpr attention_options qwen3_5_attend(const auto& c) {
  rotary rope = c.rope;
  rope.dims = rope.dims ? rope.dims : c.head_dim / 4;
  if (c.images) rope.section_t = c.section_t, rope.section_h = c.section_h, rope.section_w = c.section_w;
  rope.interleaved = c.images;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = c.head_dim, .rope = rope,
          .qk_norm = {c.eps, 1}, .gate = true};
}
constexpr delta_net_options qwen3_5_delta(const auto& c) {
  return {.dim = c.dim, .key_heads = c.key_heads, .value_heads = c.value_heads, .key_dim = c.key_dim,
          .value_dim = c.value_dim,
          .taps = c.taps, .eps = c.eps, .tiled = c.tiled};
}
template <auto C, class Mixer, class Mlp> using qwen3_5_layer = block<
    residual<rms_norm<C.dim, C.eps, 1>, Mixer>,
    residual<rms_norm<C.dim, C.eps, 1>, Mlp>>;

template <auto C, class Mlp> using qwen3_5_list = network<
    embedding<C.vocab, C.dim>,
    image_rows<C.dim, 0, 0, C.images>,
    arrange<order_of<C.layers>(C.linear),
        qwen3_5_layer<C, attention<qwen3_5_attend(C)>, Mlp>, qwen3_5_layer<C, gated_delta_net<qwen3_5_delta(C)>, Mlp>>,
    rms_norm<C.dim, C.eps, 1>,
    head<C.dim, C.vocab, C.tied>>;

template <qwen3_5_config C> struct qwen3_5 : qwen3_5_list<C, gated_mlp<C.dim, C.hidden, activation::silu>> {
  using family = cke::family<"qwen3_5_text">;
  static constexpr qwen3_5_config config = C;
};

struct Qwen3_5_0_8B : qwen3_5<qwen3_5_config{
    .vocab = 248320, .dim = 1024, .hidden = 3584, .layers = 24, .heads = 8, .kv_heads = 2, .tied = true}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/qwen3_5.hpp"
#endif

// SPDX-License-Identifier: MIT
// qwen3_vl.hpp: the decoder of Qwen3-VL: qwen3 that sees images. A rope of three axes turns their rows by time, row and
// column, and its first layers add features of the tower's layers (deepstack). Its tower: towers/qwen3_vl.hpp.
#pragma once

#include "card.hpp"
// clang-format off
namespace cke {

struct qwen3_vl_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads, head_dim = 128;
  u32 taps = 3;  // layers of the tower whose features the first layers add
  u32 section_t = 24, section_h = 20, section_w = 20;  // frequencies that each axis turns
  real eps = 1e-6;
  bool tied = true, attention_bias{}, interleaved = true;
  rotary rope{.theta = 5e6};
};

constexpr attention_options qwen3_vl_attend(const auto& c) {
  rotary rope = c.rope;
  rope.dims = c.head_dim, rope.interleaved = c.interleaved;
  rope.section_t = c.section_t, rope.section_h = c.section_h, rope.section_w = c.section_w;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = c.head_dim,
          .rope = rope, .qk_norm = {c.eps}, .qkv_bias = c.attention_bias, .out_bias = c.attention_bias};
}

template <qwen3_vl_config C> struct qwen3_vl_layers {
  using attend = residual<rms_norm<C.dim, C.eps>, attention<qwen3_vl_attend(C)>>;
  using mlp = residual<rms_norm<C.dim, C.eps>, gated_mlp<C.dim, C.hidden, activation::silu>>;
  static constexpr auto order = order_of<C.layers>(layer_set::up_to(C.taps));
  using type = arrange<order, block<attend, mlp>, block<attend, mlp, deepstack_add<C.dim>>>;
};
template <qwen3_vl_config C> struct qwen3_vl : network<
    embedding<C.vocab, C.dim>,
    image_rows<C.dim, C.taps>,
    typename qwen3_vl_layers<C>::type,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"qwen3_vl_text">;
  static constexpr qwen3_vl_config config = C;
};

struct Qwen3_VL_2B : qwen3_vl<qwen3_vl_config{
    .vocab = 151936, .dim = 2048, .hidden = 6144, .layers = 28, .heads = 16, .kv_heads = 8}> {};
struct Qwen3_VL_4B : qwen3_vl<qwen3_vl_config{
    .vocab = 151936, .dim = 2560, .hidden = 9728, .layers = 36, .heads = 32, .kv_heads = 8}> {};
struct Qwen3_VL_8B : qwen3_vl<qwen3_vl_config{
    .vocab = 151936, .dim = 4096, .hidden = 12288, .layers = 36, .heads = 32, .kv_heads = 8, .tied = false}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/qwen3_vl.hpp"
#endif

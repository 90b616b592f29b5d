// SPDX-License-Identifier: MIT
// qwen2_5_vl.hpp: the decoder of Qwen2.5-VL: qwen2 whose rope turns the rows of images by time, row and column, each
// axis a run of the frequencies. Its tower: towers/qwen2_5_vl.hpp.
#pragma once

#include "qwen2.hpp"
// clang-format off
namespace cke {

struct qwen2_5_vl_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads;
  u32 head_dim{};  // 0: dim / heads
  u32 section_t = 16, section_h = 24, section_w = 24;  // frequencies that each axis turns
  real eps = 1e-6;
  bool tied{};
  rotary rope{.theta = 1e6};
};

constexpr attention_options qwen2_5_vl_attend(const qwen2_5_vl_config& c) {
  attention_options all = qwen2_attend(c);
  all.rope.section_t = c.section_t, all.rope.section_h = c.section_h, all.rope.section_w = c.section_w;
  return all;
}

template <qwen2_5_vl_config C> struct qwen2_5_vl : network<
    embedding<C.vocab, C.dim>,
    image_rows<C.dim>,
    stack<C.layers, block<
        residual<rms_norm<C.dim, C.eps>, attention<qwen2_5_vl_attend(C)>>,
        residual<rms_norm<C.dim, C.eps>, gated_mlp<C.dim, C.hidden, activation::silu>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"qwen2_5_vl_text">;
  static constexpr qwen2_5_vl_config config = C;
};

struct Qwen2_5_VL_3B : qwen2_5_vl<qwen2_5_vl_config{
    .vocab = 151936, .dim = 2048, .hidden = 11008, .layers = 36, .heads = 16, .kv_heads = 2, .tied = true}> {};
struct Qwen2_5_VL_7B : qwen2_5_vl<qwen2_5_vl_config{
    .vocab = 152064, .dim = 3584, .hidden = 18944, .layers = 28, .heads = 28, .kv_heads = 4}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/qwen2_5_vl.hpp"
#endif

// SPDX-License-Identifier: MIT
// qwen2.hpp: Qwen2 and Qwen2.5 (dense): llama plus a bias on q, k and v.
#pragma once

#include "card.hpp"
// clang-format off
namespace cke {

struct qwen2_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads;
  u32 head_dim{};  // 0: dim / heads
  real eps = 1e-6;
  bool tied = true;
  rotary rope{.theta = 1e6};
};

// Qwen2.5-VL uses this too.
constexpr attention_options qwen2_attend(const auto& c) {
  const u32 head_dim = c.head_dim ? c.head_dim : c.dim / c.heads;
  rotary rope = c.rope;
  rope.dims = head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = head_dim, .rope = rope, .qkv_bias = true};
}

template <qwen2_config C> struct qwen2 : network<
    embedding<C.vocab, C.dim>,
    stack<C.layers, block<
        residual<rms_norm<C.dim, C.eps>, attention<qwen2_attend(C)>>,
        residual<rms_norm<C.dim, C.eps>, gated_mlp<C.dim, C.hidden, activation::silu>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"qwen2">;
  static constexpr qwen2_config config = C;
};

struct Qwen2_5_0_5B : qwen2<qwen2_config{
    .vocab = 151936, .dim = 896, .hidden = 4864, .layers = 24, .heads = 14, .kv_heads = 2}> {};
struct Qwen2_5_1_5B : qwen2<qwen2_config{
    .vocab = 151936, .dim = 1536, .hidden = 8960, .layers = 28, .heads = 12, .kv_heads = 2}> {};
struct Qwen2_5_3B : qwen2<qwen2_config{
    .vocab = 151936, .dim = 2048, .hidden = 11008, .layers = 36, .heads = 16, .kv_heads = 2}> {};
struct Qwen2_5_7B : qwen2<qwen2_config{
    .vocab = 152064, .dim = 3584, .hidden = 18944, .layers = 28, .heads = 28, .kv_heads = 4, .tied = false}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/qwen2.hpp"
#endif

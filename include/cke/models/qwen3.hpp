// SPDX-License-Identifier: MIT
// qwen3.hpp: Qwen3 (dense): llama plus a norm on every head of q and k.
#pragma once

#include "card.hpp"
// clang-format off
namespace cke {

struct qwen3_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads, head_dim = 128;
  real eps = 1e-6;
  bool tied = true, attention_bias{};
  rotary rope{.theta = 1e6};
};

// A mixture of experts uses this too.
constexpr attention_options qwen3_attend(const auto& c) {
  rotary rope = c.rope;
  rope.dims = rope.dims ? rope.dims : c.head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = c.head_dim,
          .rope = rope, .qk_norm = {c.eps}, .qkv_bias = c.attention_bias, .out_bias = c.attention_bias};
}

template <qwen3_config C> struct qwen3 : network<
    embedding<C.vocab, C.dim>,
    stack<C.layers, block<
        residual<rms_norm<C.dim, C.eps>, attention<qwen3_attend(C)>>,
        residual<rms_norm<C.dim, C.eps>, gated_mlp<C.dim, C.hidden, activation::silu>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"qwen3">;
  static constexpr qwen3_config config = C;
};

struct Qwen3_0_6B : qwen3<qwen3_config{
    .vocab = 151936, .dim = 1024, .hidden = 3072, .layers = 28, .heads = 16, .kv_heads = 8}> {};
struct Qwen3_1_7B : qwen3<qwen3_config{
    .vocab = 151936, .dim = 2048, .hidden = 6144, .layers = 28, .heads = 16, .kv_heads = 8}> {};
struct Qwen3_4B : qwen3<qwen3_config{
    .vocab = 151936, .dim = 2560, .hidden = 9728, .layers = 36, .heads = 32, .kv_heads = 8}> {};
struct Qwen3_8B : qwen3<qwen3_config{
    .vocab = 151936, .dim = 4096, .hidden = 12288, .layers = 36, .heads = 32, .kv_heads = 8, .tied = false}> {};
struct Qwen3_14B : qwen3<qwen3_config{
    .vocab = 151936, .dim = 5120, .hidden = 17408, .layers = 40, .heads = 40, .kv_heads = 8, .tied = false}> {};
struct Qwen3_32B : qwen3<qwen3_config{
    .vocab = 151936, .dim = 5120, .hidden = 25600, .layers = 64, .heads = 64, .kv_heads = 8, .tied = false}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/qwen3.hpp"
#endif

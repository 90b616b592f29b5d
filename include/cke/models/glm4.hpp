// SPDX-License-Identifier: MIT
// glm4.hpp: GLM-4: half of every head is rotated, in adjacent pairs; norms on both sides of every branch.
#pragma once

#include "card.hpp"
// clang-format off
namespace cke {

struct glm4_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads, head_dim = 128;
  real eps = 1e-5;
  bool tied{}, attention_bias = true;  // of q, k and v
  rotary rope{.theta = 1e4, .pairs = pairing::adjacent};  // dims 0: half of head_dim
};

constexpr attention_options glm4_attend(const glm4_config& c) {
  rotary rope = c.rope;
  rope.dims = rope.dims ? rope.dims : c.head_dim / 2;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = c.head_dim, .rope = rope,
          .qkv_bias = c.attention_bias};
}

template <glm4_config C> struct glm4 : network<
    embedding<C.vocab, C.dim>,
    stack<C.layers, block<
        residual<rms_norm<C.dim, C.eps>, attention<glm4_attend(C)>, rms_norm<C.dim, C.eps>>,
        residual<rms_norm<C.dim, C.eps>, gated_mlp<C.dim, C.hidden, activation::silu>, rms_norm<C.dim, C.eps>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"glm4">;
  static constexpr glm4_config config = C;
};

struct GLM_4_9B : glm4<glm4_config{
    .vocab = 151552, .dim = 4096, .hidden = 13696, .layers = 40, .heads = 32, .kv_heads = 2}> {};
struct GLM_4_32B : glm4<glm4_config{
    .vocab = 151552, .dim = 6144, .hidden = 23040, .layers = 61, .heads = 48, .kv_heads = 2,
    .attention_bias = false}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/glm4.hpp"
#endif

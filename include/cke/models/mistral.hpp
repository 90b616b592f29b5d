// SPDX-License-Identifier: MIT
// mistral.hpp: Mistral: llama with a window on every layer. In GGUF it is a llama, and its window is not used. With
// images it is the decoder of Pixtral and Mistral 3, whose towers are in towers/pixtral.hpp.
#pragma once

#include "card.hpp"
// clang-format off
namespace cke {

struct mistral_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads;
  u32 head_dim{};  // 0: dim / heads
  u32 window = everything;
  real eps = 1e-5;
  bool tied{}, images{};
  rotary rope{.theta = 1e6};
};

constexpr attention_options mistral_attend(const mistral_config& c) {
  const u32 head_dim = c.head_dim ? c.head_dim : c.dim / c.heads;
  rotary rope = c.rope;
  rope.dims = head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = head_dim, .rope = rope,
          .window = c.window};
}

template <mistral_config C> struct mistral : network<
    embedding<C.vocab, C.dim>,
    image_rows<C.dim, 0, 0, C.images>,
    stack<C.layers, block<
        residual<rms_norm<C.dim, C.eps>, attention<mistral_attend(C)>>,
        residual<rms_norm<C.dim, C.eps>, gated_mlp<C.dim, C.hidden, activation::silu>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"mistral">;
  static constexpr mistral_config config = C;
};

struct Mistral_7B_v0_1 : mistral<mistral_config{
    .vocab = 32000, .dim = 4096, .hidden = 14336, .layers = 32, .heads = 32, .kv_heads = 8, .window = 4096,
    .rope = {.theta = 1e4}}> {};
struct Mistral_7B_v0_3 : mistral<mistral_config{
    .vocab = 32768, .dim = 4096, .hidden = 14336, .layers = 32, .heads = 32, .kv_heads = 8}> {};
struct Mistral_Nemo_12B : mistral<mistral_config{
    .vocab = 131072, .dim = 5120, .hidden = 14336, .layers = 40, .heads = 32, .kv_heads = 8, .head_dim = 128}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/mistral.hpp"
#endif

// SPDX-License-Identifier: MIT
// llama.hpp: Llama 1 to 3 and what shares its shape: SmolLM2, and Mistral in GGUF files. With images it is the decoder
// of SmolVLM and Idefics 3, whose tower is towers/idefics3.hpp.
#pragma once

#include "card.hpp"
// clang-format off
namespace cke {

struct llama_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads, head_dim{};  // head_dim 0: dim / heads
  real eps = 1e-5;
  bool tied{}, attention_bias{}, mlp_bias{}, images{};
  rotary rope{.theta = 1e4};
};

constexpr attention_options llama_attend(const llama_config& c) {
  const u32 head_dim = c.head_dim ? c.head_dim : c.dim / c.heads;
  rotary rope = c.rope;
  rope.dims = rope.dims ? rope.dims : head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = head_dim, .rope = rope,
          .qkv_bias = c.attention_bias, .out_bias = c.attention_bias};
}

template <llama_config C> struct llama : network<
    embedding<C.vocab, C.dim>,
    image_rows<C.dim, 0, 0, C.images>,
    stack<C.layers, block<
        residual<rms_norm<C.dim, C.eps>, attention<llama_attend(C)>>,
        residual<rms_norm<C.dim, C.eps>, gated_mlp<C.dim, C.hidden, activation::silu, C.mlp_bias>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"llama">;
  static constexpr llama_config config = C;
};

inline constexpr rotary llama3_rope{.theta = 5e5, .rule = rope_scaling::llama3, .factor = 32, .low = 1, .high = 4,
    .original = 8192};

struct SmolLM2_135M : llama<llama_config{
    .vocab = 49152, .dim = 576, .hidden = 1536, .layers = 30, .heads = 9, .kv_heads = 3, .tied = true,
    .rope = {.theta = 1e5}}> {};
struct SmolLM2_360M : llama<llama_config{
    .vocab = 49152, .dim = 960, .hidden = 2560, .layers = 32, .heads = 15, .kv_heads = 5, .tied = true,
    .rope = {.theta = 1e5}}> {};
struct SmolLM2_1_7B : llama<llama_config{
    .vocab = 49152, .dim = 2048, .hidden = 8192, .layers = 24, .heads = 32, .kv_heads = 32, .tied = true,
    .rope = {.theta = 1.3e5}}> {};
struct Llama_3_2_1B : llama<llama_config{
    .vocab = 128256, .dim = 2048, .hidden = 8192, .layers = 16, .heads = 32, .kv_heads = 8, .tied = true,
    .rope = llama3_rope}> {};
struct Llama_3_2_3B : llama<llama_config{
    .vocab = 128256, .dim = 3072, .hidden = 8192, .layers = 28, .heads = 24, .kv_heads = 8, .tied = true,
    .rope = llama3_rope}> {};
struct Llama_3_1_8B : llama<llama_config{
    .vocab = 128256, .dim = 4096, .hidden = 14336, .layers = 32, .heads = 32, .kv_heads = 8,
    .rope = {.theta = 5e5, .rule = rope_scaling::llama3, .factor = 8, .low = 1, .high = 4, .original = 8192}}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/llama.hpp"
#endif

// SPDX-License-Identifier: MIT
// gemma4.hpp: Gemma 4: sliding and full layers of their own head sizes; the last ones read earlier caches. In sliding
// layers the rows of an image may see each other. Its tower: towers/gemma4.hpp.
#pragma once

#include "card.hpp"
// clang-format off
namespace cke {

struct gemma4_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads, head_dim = 256, global_head_dim = 512, global_kv_heads{};
  u32 window = 512, pad{};  // pad: the token that stands for rows of images in the layers' own embeddings
  layer_set sliding = layer_set::all_but_every(6);
  u32 shared_layers{};  // the last ones, which have no k and v of their own
  bool double_wide{};   // of the shared layers: their mlp is twice as wide
  bool k_is_v{};        // in full layers: v is k before norm and rope
  u32 part = 256;       // of a token's embedding, for each layer; 0: none
  u32 experts{}, active{}, expert_hidden{};
  real eps = 1e-6, logit_cap{};
  bool tied = true, images{}, sees_image{};
  rotary rope{.theta = 1e6, .rule = rope_scaling::proportional}, local_rope{.theta = 1e4};  // dims 0: a quarter, all
};

constexpr u32 gemma4_kv_heads(const gemma4_config& c) {
  return c.k_is_v && c.global_kv_heads ? c.global_kv_heads : c.kv_heads;
}
constexpr attention_options gemma4_attend(const gemma4_config& c, bool full, bool shared) {
  const u32 head_dim = full ? c.global_head_dim : c.head_dim;
  rotary rope = full ? c.rope : c.local_rope;
  rope.dims = rope.dims ? rope.dims : full ? 2 * (head_dim / 8) : head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = full ? gemma4_kv_heads(c) : c.kv_heads, .head_dim = head_dim,
          .rope = rope, .qk_norm = {c.eps}, .v_norm = {c.eps, full && c.k_is_v}, .window = full ? everything : c.window,
          .scale = 1, .shared_kv = shared, .sees_image = c.images && c.sees_image && !full};
}

template <gemma4_config C> using gemma4_norm = rms_norm<C.dim, C.eps>;
template <gemma4_config C, class Branch> using gemma4_normed = chain<gemma4_norm<C>, Branch, gemma4_norm<C>>;
template <gemma4_config C, bool Shared> using gemma4_mlp = gemma4_normed<C,
    gated_mlp<C.dim, (Shared && C.double_wide ? 2 : 1) * C.hidden, activation::gelu_tanh>>;
template <gemma4_config C> using gemma4_experts = gemma4_normed<C, moe<moe_options{
    .dim = C.dim, .hidden = C.expert_hidden,
    .route = {.experts = C.experts, .active = C.active, .renormalise = true, .expert_scale = true},
    .act = activation::gelu_tanh, .router_norm = C.eps}>>;
template <gemma4_config C, bool Shared> using gemma4_feed_forward = std::conditional_t<C.experts == 0,
    residual<gemma4_mlp<C, Shared>>, residual<sum<gemma4_mlp<C, Shared>, gemma4_experts<C>>, gemma4_norm<C>>>;

template <gemma4_config C, bool Full, bool Shared, class... Rest> using gemma4_block = block<
    residual<gemma4_norm<C>, attention<gemma4_attend(C, Full, Shared)>, gemma4_norm<C>>,
    gemma4_feed_forward<C, Shared>, Rest..., learned_scale<C.dim>>;
template <gemma4_config C, bool Full, bool Shared> using gemma4_layer = std::conditional_t<C.part == 0,
    gemma4_block<C, Full, Shared>,
    gemma4_block<C, Full, Shared, residual<layer_input<C.dim, C.part, activation::gelu_tanh>, gemma4_norm<C>>>>;
template <gemma4_config C> inline constexpr auto gemma4_order =  // sliding and full, with a cache or sharing one
    order_of<C.layers>([](u32 i) { return !C.sliding.has(i) + 2 * (i + C.shared_layers >= C.layers); });
template <gemma4_config C, bool Shares = (C.shared_layers > 0)> struct gemma4 : network<
    embedding<C.vocab, C.dim>, scale<C.dim, root(C.dim)>, image_rows<C.dim, 0, C.pad, C.images>,
    layer_embedding<C.vocab, C.dim, C.layers, C.part, C.eps>,
    arrange<gemma4_order<C>, gemma4_layer<C, false, false>, gemma4_layer<C, true, false>,
            gemma4_layer<C, false, Shares>, gemma4_layer<C, true, Shares>>,
    gemma4_norm<C>, head<C.dim, C.vocab, C.tied>, softcap<C.vocab, C.logit_cap>> {
  using family = cke::family<"gemma4_text">;
  static constexpr gemma4_config config = C;
};

struct Gemma_4_E2B : gemma4<gemma4_config{
    .vocab = 262144, .dim = 1536, .hidden = 6144, .layers = 35, .heads = 8, .kv_heads = 1,
    .sliding = layer_set::all_but_every(5), .shared_layers = 20, .double_wide = true, .logit_cap = 30}> {};
struct Gemma_4_E4B : gemma4<gemma4_config{
    .vocab = 262144, .dim = 2560, .hidden = 10240, .layers = 42, .heads = 8, .kv_heads = 2, .shared_layers = 18,
    .logit_cap = 30}> {};
struct Gemma_4_26B_A4B : gemma4<gemma4_config{
    .vocab = 262144, .dim = 2816, .hidden = 2112, .layers = 30, .heads = 16, .kv_heads = 8, .global_kv_heads = 2,
    .window = 1024, .k_is_v = true, .part = 0, .experts = 128, .active = 8, .expert_hidden = 704, .logit_cap = 30}> {};
struct Gemma_4_31B : gemma4<gemma4_config{
    .vocab = 262144, .dim = 5376, .hidden = 21504, .layers = 60, .heads = 32, .kv_heads = 16, .global_kv_heads = 4,
    .window = 1024, .k_is_v = true, .part = 0, .logit_cap = 30}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/gemma4.hpp"
#endif

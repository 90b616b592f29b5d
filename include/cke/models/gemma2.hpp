// SPDX-License-Identifier: MIT
// gemma2.hpp: Gemma 2: sliding and full layers in turn, a norm on both sides of every branch, capped scores and logits.
#pragma once

#include "family.hpp"

namespace cke {

struct gemma2_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads, head_dim = 256, window = 4096;
  layer_set sliding = layer_set::all_but_every(2);
  real eps = 1e-6, query_scalar = 256, score_cap = 50, logit_cap = 30;
  bool tied = true;
  rotary rope{.theta = 1e4};
};

constexpr attention_options gemma2_attend(const gemma2_config& c, bool slides) {
  rotary rope = c.rope;
  rope.dims = c.head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = c.head_dim, .rope = rope,
          .window = slides ? c.window : everything, .scale = 1 / root(c.query_scalar.v), .cap = c.score_cap};
}

template <gemma2_config C, bool Slides> using gemma2_layer = block<
    residual<rms_norm<C.dim, C.eps, 1>, attention<gemma2_attend(C, Slides)>, rms_norm<C.dim, C.eps, 1>>,
    residual<rms_norm<C.dim, C.eps, 1>, gated_mlp<C.dim, C.hidden, activation::gelu_tanh>, rms_norm<C.dim, C.eps, 1>>>;

template <gemma2_config C> struct gemma2 : network<
    embedding<C.vocab, C.dim>,
    scale<C.dim, root(C.dim)>,
    arrange<order_of<C.layers>(C.sliding), gemma2_layer<C, false>, gemma2_layer<C, true>>,
    rms_norm<C.dim, C.eps, 1>,
    head<C.dim, C.vocab, C.tied>,
    softcap<C.vocab, C.logit_cap>> {
  using family = cke::family<"gemma2">;
  static constexpr gemma2_config config = C;
};

// Norms before and after each branch; the files of Hugging Face hold their weights less 1, those of GGUF whole.
inline constexpr auto gemma_names = common_names + std::array{
    name_rule{place::footer, role::norm, 0, "model.norm", "output_norm", change::plus_one},
    name_rule{place::body, role::norm, 0, "model.layers.{}.input_layernorm", "blk.{}.attn_norm", change::plus_one},
    name_rule{place::body, role::norm, 1, "model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm", change::plus_one},
    name_rule{place::body, role::norm, 2, "model.layers.{}.pre_feedforward_layernorm", "blk.{}.ffn_norm", change::plus_one},
    name_rule{place::body, role::norm, 3, "model.layers.{}.post_feedforward_layernorm", "blk.{}.post_ffw_norm", change::plus_one}};

namespace key {
inline constexpr config_key query_scalar{"query_scalar", "query_pre_attn_scalar", "", true, 1, 1 << 20};
}

template <> struct family<"gemma2"> {
  using config = gemma2_config;
  template <config C> using type = gemma2<C>;
  static constexpr std::string_view name = "gemma2", header = "cke/models/gemma2.hpp", type_name = "cke::gemma2";
  static constexpr config_key keys[] = {
      key::vocab, key::dim, key::hidden, key::layers, key::heads, key::kv_heads, key::head_dim, key::window, key::sliding, key::eps,
      key::query_scalar, {"score_cap", "attn_logit_softcapping", "attn_logit_softcapping", true, 1e-3, 1e6, 0},
      {"logit_cap", "final_logit_softcapping", "final_logit_softcapping", true, 1e-3, 1e6, 0}, key::tied, key::rope};
  static constexpr requirement must_be[] = {
      {"hidden_activation", "gelu_pytorch_tanh"}, {"hidden_act", "gelu_pytorch_tanh"}, {"attention_bias", "false"},
      {"use_bidirectional_attention", "false"}};
  static constexpr config defaults{.vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0, .kv_heads = 4};
  static constexpr config gguf_defaults{.vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0, .kv_heads = 4, .query_scalar = 0};
  static constexpr config finish(config c) {
    c.sliding = c.sliding.first(c.layers);
    // GGUF does not say it; llama.cpp knows the 27B model by its depth.
    if (c.query_scalar.v == 0 && c.heads) c.query_scalar = c.layers == 46 ? c.dim / c.heads : c.head_dim;
    return c;
  }
  static constexpr auto names = gemma_names;
};

struct Gemma_2_2B : gemma2<gemma2_config{.vocab = 256000, .dim = 2304, .hidden = 9216, .layers = 26, .heads = 8, .kv_heads = 4}> {};
struct Gemma_2_9B : gemma2<gemma2_config{.vocab = 256000, .dim = 3584, .hidden = 14336, .layers = 42, .heads = 16, .kv_heads = 8}> {};
struct Gemma_2_27B : gemma2<gemma2_config{.vocab = 256000, .dim = 4608, .hidden = 36864, .layers = 46, .heads = 32, .kv_heads = 16, .head_dim = 128, .query_scalar = 144}> {};

}  // namespace cke

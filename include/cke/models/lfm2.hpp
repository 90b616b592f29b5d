// SPDX-License-Identifier: MIT
// lfm2.hpp: LFM2: most layers are short convolutions, the others attend with a norm on every head of q and k.
#pragma once

#include "family.hpp"

namespace cke {

struct lfm2_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads = 8, head_dim{}, taps = 3;
  layer_set attends = layer_set::up_to(layer_set::most);
  bool adjust{};  // hidden: two thirds of it, times `by`, up to a multiple
  real by = 1;
  u32 multiple = 256;
  real eps = 1e-5;
  bool tied = true, conv_bias{};
  rotary rope{.theta = 1e6};
};

// Of a mixture of experts too.
constexpr attention_options lfm2_attend(const auto& c) {
  rotary rope = c.rope;
  const u32 head_dim = c.head_dim ? c.head_dim : c.dim / c.heads;
  rope.dims = rope.dims ? rope.dims : head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = head_dim, .rope = rope, .qk_norm = {c.eps}};
}
template <auto C> using lfm2_conv = short_conv<C.dim, C.taps, C.conv_bias>;

template <auto C, class Mixer, class Mlp> using lfm2_layer = block<
    residual<rms_norm<C.dim, C.eps>, Mixer>,
    residual<rms_norm<C.dim, C.eps>, Mlp>>;

template <lfm2_config C, class Mlp = gated_mlp<C.dim, C.hidden, activation::silu>> struct lfm2 : network<
    embedding<C.vocab, C.dim>,
    arrange<order_of<C.layers>(C.attends), lfm2_layer<C, lfm2_conv<C>, Mlp>, lfm2_layer<C, attention<lfm2_attend(C)>, Mlp>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"lfm2">;
  static constexpr lfm2_config config = C;
};

inline constexpr auto lfm2_names = common_names + std::array{
    name_rule{place::footer, role::norm, 0, "model.embedding_norm", "token_embd_norm"},
    name_rule{place::body, role::norm, 0, "model.layers.{}.operator_norm", "blk.{}.attn_norm"},
    name_rule{place::body, role::norm, 1, "model.layers.{}.ffn_norm", "blk.{}.ffn_norm"},
    name_rule{place::body, role::o, 0, "model.layers.{}.self_attn.out_proj", "blk.{}.attn_output"},
    name_rule{place::body, role::q_norm, 0, "model.layers.{}.self_attn.q_layernorm", "blk.{}.attn_q_norm"},
    name_rule{place::body, role::k_norm, 0, "model.layers.{}.self_attn.k_layernorm", "blk.{}.attn_k_norm"},
    name_rule{place::body, role::conv_in, 0, "model.layers.{}.conv.in_proj", "blk.{}.shortconv.in_proj"},
    name_rule{place::body, role::conv, 0, "model.layers.{}.conv.conv", "blk.{}.shortconv.conv"},
    name_rule{place::body, role::conv_out, 0, "model.layers.{}.conv.out_proj", "blk.{}.shortconv.out_proj"},
    name_rule{place::body, role::gate, 0, "model.layers.{}.feed_forward.w1", "blk.{}.ffn_gate"},
    name_rule{place::body, role::up, 0, "model.layers.{}.feed_forward.w3", "blk.{}.ffn_up"},
    name_rule{place::body, role::down, 0, "model.layers.{}.feed_forward.w2", "blk.{}.ffn_down"}};

namespace key {
inline constexpr config_key taps{"taps", "conv_L_cache", "shortconv.l_cache", true, 1, 64},
    attends{"attends", "layer_types", "attends", true, 1, layer_set::most, -1, "conv or full_attention", "full_attn_idxs"},
    norm_eps{"eps", "norm_eps", "attention.layer_norm_rms_epsilon", true, 1e-12, 1e-1},
    lfm2_tied{"tied", "tie_embedding|tie_word_embeddings", "tied", true, 0, 1},
    conv_bias{"conv_bias", "conv_bias", "", true, 0, 1};
}  // namespace key

template <> struct family<"lfm2"> {
  using config = lfm2_config;
  template <config C> using type = lfm2<C>;
  static constexpr std::string_view name = "lfm2", header = "cke/models/lfm2.hpp", type_name = "cke::lfm2";
  static constexpr config_key keys[] = {
      key::vocab.or_default(), key::dim.or_default(),
      {"hidden", "block_ff_dim|intermediate_size", "feed_forward_length", true, 1, 1 << 22},
      key::layers.or_default(), key::heads.or_default(), key::kv_heads, key::head_dim, key::taps, key::attends,
      {"adjust", "block_auto_adjust_ff_dim", "", true, 0, 1}, {"by", "block_ffn_dim_multiplier", "", true, 1e-3, 1e3},
      {"multiple", "block_multiple_of", "", true, 1, 1 << 16}, key::norm_eps, key::lfm2_tied, key::conv_bias, key::rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}, {"use_pos_enc", "true"}, {"block_use_swiglu", "true"}};
  static constexpr config defaults{.vocab = 65536, .dim = 2560, .hidden = 12288, .layers = 32, .heads = 32, .adjust = true};
  static constexpr config gguf_defaults{.vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0};
  static constexpr config finish(config c) {
    c.head_dim = c.head_dim || c.heads == 0 ? c.head_dim : c.dim / c.heads;
    c.attends = c.attends.first(c.layers);
    if (c.adjust) {
      const u32 scaled = static_cast<u32>(c.by.v * (2 * c.hidden / 3));
      c.hidden = (scaled + c.multiple - 1) / c.multiple * c.multiple;
    }
    c.adjust = false, c.by = 1, c.multiple = 256;
    return c;
  }
  static constexpr auto names = lfm2_names;
};

inline constexpr layer_set lfm2_attends = layer_set::of({2, 5, 8, 10, 12, 14});
struct LFM2_350M : lfm2<lfm2_config{.vocab = 65536, .dim = 1024, .hidden = 4608, .layers = 16, .heads = 16, .attends = lfm2_attends}> {};
struct LFM2_700M : lfm2<lfm2_config{.vocab = 65536, .dim = 1536, .hidden = 6912, .layers = 16, .heads = 24, .attends = lfm2_attends}> {};
struct LFM2_1_2B : lfm2<lfm2_config{.vocab = 65536, .dim = 2048, .hidden = 8192, .layers = 16, .heads = 32, .attends = lfm2_attends}> {};

}  // namespace cke

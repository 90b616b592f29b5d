// SPDX-License-Identifier: MIT
// smollm3.hpp: SmolLM3: llama in which every fourth layer has no rope.
#pragma once

#include "family.hpp"

namespace cke {

struct smollm3_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads, head_dim{};  // head_dim 0: dim / heads
  layer_set turned = layer_set::all_but_every(4);               // layers with rope
  real eps = 1e-6;
  bool tied = true, attention_bias{}, mlp_bias{};
  rotary rope{.theta = 5e6};
};

constexpr attention_options smollm3_attend(const smollm3_config& c, bool turned) {
  const u32 head_dim = c.head_dim ? c.head_dim : c.dim / c.heads;
  rotary rope = c.rope;
  rope.dims = head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = head_dim, .rope = turned ? rope : rotary{},
          .qkv_bias = c.attention_bias, .out_bias = c.attention_bias};
}

template <smollm3_config C, bool Turned> using smollm3_layer = block<
    residual<rms_norm<C.dim, C.eps>, attention<smollm3_attend(C, Turned)>>,
    residual<rms_norm<C.dim, C.eps>, gated_mlp<C.dim, C.hidden, activation::silu, C.mlp_bias>>>;

template <smollm3_config C> struct smollm3 : network<
    embedding<C.vocab, C.dim>,
    arrange<order_of<C.layers>(C.turned), smollm3_layer<C, false>, smollm3_layer<C, true>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"smollm3">;
  static constexpr smollm3_config config = C;
};

template <> struct family<"smollm3"> {
  using config = smollm3_config;
  template <config C> using type = smollm3<C>;
  static constexpr std::string_view name = "smollm3", header = "cke/models/smollm3.hpp", type_name = "cke::smollm3";
  static constexpr config_key keys[] = {
      key::vocab, key::dim, key::hidden, key::layers, key::heads, key::kv_heads, key::head_dim,
      {"turned", "no_rope_layers|no_rope_layer_interval", "", true, 1, layer_set::most}, key::eps, key::tied,
      key::attention_bias, key::mlp_bias, key::rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}, {"use_sliding_window", "false"}};
  static constexpr config defaults{.vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0, .kv_heads = 0, .rope = {.theta = 2e6}};
  static constexpr config finish(config c) {
    c.kv_heads = c.kv_heads ? c.kv_heads : c.heads;
    c.head_dim = c.head_dim || c.heads == 0 ? c.head_dim : c.dim / c.heads;
    c.turned = c.turned.first(c.layers);
    return c;
  }
  static constexpr auto names = paired_names;
};

struct SmolLM3_3B : smollm3<smollm3_config{.vocab = 128256, .dim = 2048, .hidden = 11008, .layers = 36, .heads = 16, .kv_heads = 4}> {};

}  // namespace cke

// SPDX-License-Identifier: MIT
// lfm2_moe.hpp: LFM2 with experts: dense layers first, then experts chosen by sigmoid scores and a bias.
#pragma once

#include "lfm2.hpp"

namespace cke {

struct lfm2_moe_config {
  u32 vocab, dim, hidden, expert_hidden, layers, heads, kv_heads = 8, head_dim{}, taps = 3;
  layer_set attends = layer_set::up_to(layer_set::most);
  u32 experts = 32, active = 4, dense_layers = 2;
  bool expert_bias = true, renormalise = true;
  real weights_scale = 1, eps = 1e-5;
  bool tied = true, conv_bias{};
  rotary rope{.theta = 1e6};
};

template <lfm2_moe_config C> inline constexpr moe_options lfm2_experts{
    .dim = C.dim, .hidden = C.expert_hidden,
    .route = {.experts = C.experts, .active = C.active, .score = scoring::sigmoid, .bias = C.expert_bias,
              .renormalise = C.renormalise, .floor = 1e-6, .scale = C.weights_scale}};

template <lfm2_moe_config C> constexpr std::array<u8, C.layers> lfm2_moe_order() {
  std::array<u8, C.layers> order{};
  for (u32 i = 0; i < C.layers; ++i) order[i] = static_cast<u8>((i < C.dense_layers ? 0 : 2) + C.attends.has(i));
  return order;
}

template <lfm2_moe_config C, class Dense = gated_mlp<C.dim, C.hidden, activation::silu>, class Experts = moe<lfm2_experts<C>>>
struct lfm2_moe : network<
    embedding<C.vocab, C.dim>,
    arrange<lfm2_moe_order<C>(),
        lfm2_layer<C, lfm2_conv<C>, Dense>, lfm2_layer<C, attention<lfm2_attend(C)>, Dense>,
        lfm2_layer<C, lfm2_conv<C>, Experts>, lfm2_layer<C, attention<lfm2_attend(C)>, Experts>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"lfm2_moe">;
  static constexpr lfm2_moe_config config = C;
};

template <> struct family<"lfm2_moe"> {
  using config = lfm2_moe_config;
  template <config C> using type = lfm2_moe<C>;
  static constexpr std::string_view name = "lfm2_moe", gguf_name = "lfm2moe", header = "cke/models/lfm2_moe.hpp", type_name = "cke::lfm2_moe";
  static void to_gguf(const config&, json, auto put) { put("expert_gating_func", 2u); }  // sigmoid
  static constexpr config_key keys[] = {
      key::vocab.or_default(), key::dim.or_default(), key::hidden.or_default(), key::expert_hidden.or_default(), key::layers.or_default(),
      key::heads.or_default(), key::kv_heads, key::head_dim, key::taps, key::attends, key::experts.or_default(), key::active.or_default(),
      {"dense_layers", "num_dense_layers", "leading_dense_block_count", true, 0, layer_set::most},
      {"expert_bias", "use_expert_bias", "", true, 0, 1}, key::renormalise, key::weights_scale, key::norm_eps, key::lfm2_tied, key::conv_bias, key::rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}};
  static constexpr config defaults{.vocab = 65536, .dim = 2048, .hidden = 7168, .expert_hidden = 1792, .layers = 32, .heads = 32};
  static constexpr config gguf_defaults{.vocab = 0, .dim = 0, .hidden = 0, .expert_hidden = 0, .layers = 0, .heads = 0, .experts = 0, .active = 0,
                                        .dense_layers = 0};
  static constexpr config finish(config c) {
    c.head_dim = c.head_dim || c.heads == 0 ? c.head_dim : c.dim / c.heads;
    c.attends = c.attends.first(c.layers);
    return c;
  }
  static constexpr auto names = expert_names + lfm2_names + std::array{
      name_rule{place::body, role::router, 0, "model.layers.{}.feed_forward.gate", "blk.{}.ffn_gate_inp"},
      name_rule{place::body, role::router_bias, 0, "=model.layers.{}.feed_forward.expert_bias", "=blk.{}.exp_probs_b.bias"},
      name_rule{place::body, role::gate_experts, 0, "model.layers.{}.feed_forward.experts.{}.w1|=model.layers.{}.feed_forward.experts.gate_up_proj[0]",
                "blk.{}.ffn_gate_exps"},
      name_rule{place::body, role::up_experts, 0, "model.layers.{}.feed_forward.experts.{}.w3|=model.layers.{}.feed_forward.experts.gate_up_proj[1]",
                "blk.{}.ffn_up_exps"},
      name_rule{place::body, role::down_experts, 0, "model.layers.{}.feed_forward.experts.{}.w2|=model.layers.{}.feed_forward.experts.down_proj",
                "blk.{}.ffn_down_exps"}};
};

struct LFM2_8B_A1B : lfm2_moe<lfm2_moe_config{.vocab = 65536, .dim = 2048, .hidden = 7168, .expert_hidden = 1792, .layers = 24, .heads = 32, .attends = layer_set::of({2, 6, 10, 14, 18, 21})}> {};

}  // namespace cke

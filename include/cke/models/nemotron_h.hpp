// SPDX-License-Identifier: MIT
// nemotron_h.hpp: Nemotron-H and Nemotron 3: each layer is one thing: a mamba2 mixer, attention without a rope, an mlp of relu^2, or experts.
#pragma once

#include "mamba2.hpp"

namespace cke {

struct nemotron_h_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads = 8, head_dim = 128;
  u32 experts = 8, active = 2, expert_hidden = 7688, shared_hidden = 7688, latent{}, groups = 1, groups_kept = 1;
  real weights_scale = 1;
  bool renormalise = true;
  u32 ssm_heads = 128, ssm_head_dim = 64, state = 128, ssm_groups = 8, taps = 4;
  layer_set attends{}, feeds{}, sparse{};  // what attends, what is an mlp or experts, and what is experts; the others are mixers
  real eps = 1e-5, least_step{}, most_step = 1e300;
  bool conv_bias = true, bias{}, mlp_bias{}, tied{};
  rotary rope{.theta = 1e4};  // nothing turns
};

template <nemotron_h_config C> constexpr std::array<u8, C.layers> nemotron_h_order() {
  std::array<u8, C.layers> order{};
  for (u32 i = 0; i < C.layers; ++i) order[i] = C.attends.has(i) ? 1 : C.sparse.has(i) ? 3 : C.feeds.has(i) ? 2 : 0;
  return order;
}
constexpr mamba_options nemotron_h_space(const nemotron_h_config& c) {
  return {.dim = c.dim, .heads = c.ssm_heads, .head_dim = c.ssm_head_dim, .state = c.state, .groups = c.ssm_groups, .taps = c.taps, .eps = c.eps,
          .least_step = c.least_step, .most_step = c.most_step, .conv_bias = c.conv_bias, .bias = c.bias};
}
constexpr moe_options nemotron_h_experts(const nemotron_h_config& c) {
  return {.dim = c.dim, .hidden = c.expert_hidden,
          .route = {.experts = c.experts, .active = c.active, .score = scoring::sigmoid, .bias = true, .groups = c.groups, .groups_kept = c.groups_kept,
                    .group_by = group_score::best_two, .renormalise = c.renormalise, .scale = c.weights_scale},
          .act = activation::relu2, .ungated = true, .shared = c.shared_hidden, .latent = c.latent, .bias = c.mlp_bias};
}
template <nemotron_h_config C, class Mixer> using nemotron_h_layer = block<residual<rms_norm<C.dim, C.eps>, Mixer>>;

template <nemotron_h_config C> struct nemotron_h : network<
    embedding<C.vocab, C.dim>,
    arrange<nemotron_h_order<C>(),
        nemotron_h_layer<C, mamba_mixer<nemotron_h_space(C)>>,
        nemotron_h_layer<C, attention<attention_options{.dim = C.dim, .heads = C.heads, .kv_heads = C.kv_heads, .head_dim = C.head_dim}>>,
        nemotron_h_layer<C, plain_mlp<C.dim, C.hidden, activation::relu2, C.mlp_bias>>,
        nemotron_h_layer<C, moe<nemotron_h_experts(C)>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"nemotron_h">;
  static constexpr nemotron_h_config config = C;
};

namespace key {
inline constexpr config_key of_layers{"", "layers_block_type|hybrid_override_pattern", "", false, 1, layer_set::most};
inline constexpr config_key pattern(std::string_view field, std::string_view gguf, std::string_view kinds) {
  return {field, of_layers.hf, gguf, false, of_layers.least, of_layers.most, -1, kinds};
}
}  // namespace key

template <> struct family<"nemotron_h"> {
  using config = nemotron_h_config;
  template <config C> using type = nemotron_h<C>;
  static constexpr std::string_view name = "nemotron_h", header = "cke/models/nemotron_h.hpp", type_name = "cke::nemotron_h";
  static constexpr bool predicts_ahead = true;  // files have layers for speculation
  static constexpr config_key keys[] = {
      key::vocab.or_default(), key::dim.or_default(), {"hidden", "intermediate_size", "feed_forward_length.most|feed_forward_length", true, 1, 1 << 22},
      {"layers", "layers_block_type|hybrid_override_pattern|num_hidden_layers", "block_count", false, 1, layer_set::most}, key::heads.or_default(),
      {"kv_heads", "num_key_value_heads", "attention.head_count_kv", true, 1, 4096, 0},
      {"head_dim", "head_dim|attention_head_dim", "attention.key_length", true, 2, 1024},
      key::experts.or_default(), key::active.or_default(), key::expert_hidden.or_default(),
      {"shared_hidden", "moe_shared_expert_intermediate_size", "expert_shared_feed_forward_length", true, 1, 1 << 22},
      {"latent", "moe_latent_size", "moe_latent_size", true, 1, 1 << 20}, key::groups, key::groups_kept, key::weights_scale, key::renormalise,
      {"ssm_heads", "mamba_num_heads", "ssm.time_step_rank", true, 1, 65536}, {"ssm_head_dim", "mamba_head_dim", "ssm.head_dim", true, 1, 4096},
      key::ssm_state, key::ssm_groups, key::ssm_taps,
      key::pattern("attends", "attends", "linear_attention|mamba|M|mlp|-|moe|E or full_attention|attention|*"),
      key::pattern("feeds", "feed_forward_length", "linear_attention|mamba|M|full_attention|attention|* or mlp|-|moe|E"),
      key::pattern("sparse", "", "linear_attention|mamba|M|full_attention|attention|*|mlp|- or moe|E").or_default(),
      key::mamba_eps, key::least_step, key::most_step, key::ssm_conv_bias, key::ssm_bias, key::mlp_bias, key::tied, key::unturned};
  static constexpr requirement must_be[] = {
      {"mlp_hidden_act", "relu2"}, {"mamba_hidden_act", "silu"}, {"attention_bias", "false"}, {"mamba_proj_bias", "false"},
      {"sliding_window", "null"}, {"n_shared_experts", "1"}};
  static constexpr config defaults{.vocab = 131072, .dim = 4096, .hidden = 21504, .layers = 0, .heads = 32};
  // A GGUF file with experts has no other mlps.
  static constexpr config gguf_defaults{.vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0, .kv_heads = 0, .experts = 0, .active = 0,
                                        .sparse = layer_set::up_to(layer_set::most)};
  static constexpr config finish(config c) {
    c.kv_heads = c.kv_heads ? c.kv_heads : c.heads;
    c.attends = c.attends.first(c.layers), c.feeds = c.feeds.first(c.layers), c.sparse = c.sparse.first(c.layers);
    for (u32 i = 0; i < std::size(c.sparse.bits); ++i) c.sparse.bits[i] &= c.experts ? c.feeds.bits[i] : 0;
    constexpr config usual{};
    if (c.sparse == layer_set{})
      c.experts = usual.experts, c.active = usual.active, c.expert_hidden = usual.expert_hidden, c.shared_hidden = usual.shared_hidden, c.latent = 0,
      c.groups = c.groups_kept = 1, c.weights_scale = 1, c.renormalise = true;
    if (c.sparse == c.feeds) c.hidden = c.expert_hidden;
    c.rope = no_rope(c.rope);
    return c;
  }
  static constexpr config_problem refuses(json, naming, const config& c) { return mamba2_problem(c.ssm_heads, c.ssm_groups, c.least_step, c.most_step); }
  static constexpr auto matrices(const config& c, u32 layer) {
    small_vector<layer_matrix, 8> all;
    const u64 narrow = u64{c.kv_heads} * c.head_dim;
    const auto put = [&](std::initializer_list<layer_matrix> some) { for (const layer_matrix& m : some) all.push(m); };
    if (c.attends.has(layer)) put({{role::q, u64{c.heads} * c.head_dim}, {role::k, narrow}, {role::v, narrow}});
    else if (c.sparse.has(layer)) put({{role::router, c.experts}, {role::up_experts, c.expert_hidden, c.latent}, {role::up_shared, c.shared_hidden}});
    else if (c.feeds.has(layer)) put({{role::up, c.hidden}});
    else all = mamba2_matrices(c.ssm_heads, c.ssm_head_dim, c.ssm_groups, c.state);
    if (c.sparse.has(layer) && c.latent) put({{role::latent_down, c.latent}});
    return all;
  }
  static constexpr std::string_view gguf_architecture_of(const config& c) { return c.sparse == layer_set{} ? "nemotron_h" : "nemotron_h_moe"; }
  static void to_gguf(const config& c, json, auto put) {
    put("ssm.inner_size", c.ssm_heads * c.ssm_head_dim);
    put("feed_forward_length", [&](u32 layer) { return c.feeds.has(layer) ? c.hidden : 0; });
    put("attention.layer_norm_epsilon", static_cast<float>(c.eps));
    if (c.sparse != layer_set{}) put("expert_shared_count", 1u);
  }
  static constexpr auto names = common_names + backbone_rules + std::array{
      name_rule{place::body, role::q, 0, "backbone.layers.{}.mixer.q_proj", "blk.{}.attn_q"},
      name_rule{place::body, role::k, 0, "backbone.layers.{}.mixer.k_proj", "blk.{}.attn_k"},
      name_rule{place::body, role::v, 0, "backbone.layers.{}.mixer.v_proj", "blk.{}.attn_v"},
      name_rule{place::body, role::o, 0, "backbone.layers.{}.mixer.o_proj", "blk.{}.attn_output"},
      name_rule{place::body, role::up, 0, "backbone.layers.{}.mixer.up_proj", "blk.{}.ffn_up"},
      name_rule{place::body, role::down, 0, "backbone.layers.{}.mixer.down_proj", "blk.{}.ffn_down"},
      name_rule{place::body, role::router, 0, "backbone.layers.{}.mixer.gate", "blk.{}.ffn_gate_inp"},
      name_rule{place::body, role::router_bias, 0, "=backbone.layers.{}.mixer.gate.e_score_correction_bias", "=blk.{}.exp_probs_b.bias"},
      name_rule{place::body, role::up_experts, 0, "backbone.layers.{}.mixer.experts.{}.up_proj|=backbone.layers.{}.mixer.experts.up_proj", "blk.{}.ffn_up_exps"},
      name_rule{place::body, role::down_experts, 0, "backbone.layers.{}.mixer.experts.{}.down_proj|=backbone.layers.{}.mixer.experts.down_proj", "blk.{}.ffn_down_exps"},
      name_rule{place::body, role::up_shared, 0, "backbone.layers.{}.mixer.shared_experts.up_proj", "blk.{}.ffn_up_shexp"},
      name_rule{place::body, role::down_shared, 0, "backbone.layers.{}.mixer.shared_experts.down_proj", "blk.{}.ffn_down_shexp"},
      name_rule{place::body, role::latent_down, 0, "backbone.layers.{}.mixer.fc1_latent_proj", "blk.{}.ffn_latent_down"},
      name_rule{place::body, role::latent_up, 0, "backbone.layers.{}.mixer.fc2_latent_proj", "blk.{}.ffn_latent_up"}};
};

// 4 of 52 layers attend; between them mixers and mlps take turns.
inline constexpr layer_set nemotron_h_attends = layer_set::of({7, 18, 29, 40});
inline constexpr layer_set nemotron_h_feeds = layer_set::of({1, 3, 5, 8, 10, 12, 14, 16, 19, 21, 23, 25, 27, 30, 32, 34, 36, 38, 41, 43, 45, 47, 49, 51});
struct Nemotron_H_4B : nemotron_h<nemotron_h_config{.vocab = 131072, .dim = 3072, .hidden = 12288, .layers = 52, .heads = 32, .ssm_heads = 112, .attends = nemotron_h_attends, .feeds = nemotron_h_feeds}> {};
struct Nemotron_H_8B : nemotron_h<nemotron_h_config{.vocab = 131072, .dim = 4096, .hidden = 21504, .layers = 52, .heads = 32, .attends = nemotron_h_attends, .feeds = nemotron_h_feeds}> {};

}  // namespace cke

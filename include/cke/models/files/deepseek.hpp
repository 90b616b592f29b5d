// SPDX-License-Identifier: MIT
// deepseek.hpp: how files spell DeepSeek-V2 and V3.
#pragma once

#include "../deepseek.hpp"
#include "../family.hpp"

namespace cke {

// Both versions have these.
struct deepseek_family {
  using config = deepseek_config;
  using key = shared_keys<config>;
  static constexpr bool predicts_ahead = true;  // files have layers after the last, for speculative decoding
  static constexpr config_key<config> keys[] = {
      key::vocab,
      key::dim,
      key::hidden,
      key::expert_hidden,
      key::layers,
      key::heads,
      bind<&config::q_rank>("q_lora_rank", "attention.q_lora_rank").range(1, 1 << 20).optional().null_means(0),
      bind<&config::kv_rank>("kv_lora_rank", "attention.kv_lora_rank").range(1, 1 << 16),
      bind<&config::nope>("qk_nope_head_dim", "attention.key_length_nope").range(1, 1 << 16).shown(),
      bind<&config::head_dim>("qk_rope_head_dim", "rope.dimension_count").range(2, 1024),
      bind<&config::value>("v_head_dim", "attention.value_length_mla").range(1, 1 << 16),
      key::routed_experts,
      key::active,
      key::shared,
      key::groups,
      key::groups_kept,
      key::dense_layers,
      key::weights_scale,
      key::renormalise,
      key::eps,
      key::tied,
      key::rope};

  static constexpr config finish(config c) {
    c.rope.dims = c.head_dim;
    return c;
  }
  static constexpr auto relations =
      std::array{even<&config::kv_rank>, even<&config::head_dim>, at_most<&config::active, &config::experts>} +
      expert_groups<config>;
  static constexpr layer_matrices matrices(const config& c, u32 layer) {
    layer_matrices all;
    all.add(c.q_rank ? role::q_a : role::q, c.q_rank ? c.q_rank : u64{c.heads} * (c.nope + c.head_dim))
        .add(role::kv_a, u64{c.kv_rank} + c.head_dim);
    return layer < c.dense_layers ? all.mlp(c.hidden) : all.experts(c.experts, c.expert_hidden);
  }
  static constexpr model_shape shape(const config& c) {
    return {.heads = c.heads, .experts = c.experts, .nope = c.nope, .value = c.value};
  }
  // 2: sigmoid, as in V3; otherwise softmax
  static constexpr bool is_sigmoid(json metadata) { return metadata["expert_gating_func"].number() == 2; }
  // llama.cpp's cache has one head, whose key is the latent and the rotated part.
  static void latent_to_gguf(const config& c, auto put) {
    put("attention.head_count_kv", 1u);
    put("attention.key_length", c.kv_rank + c.head_dim);
    put("attention.value_length", c.kv_rank);
    put("attention.key_length_mla", c.nope + c.head_dim);
    if (c.rope.mscale_all.v != 0)
      put("rope.scaling.yarn_log_multiplier", static_cast<float>(0.1 * c.rope.mscale_all.v));
  }
  static constexpr auto names = expert_names +
      std::array{layer_name(role::q_a, "model.layers.{}.self_attn.q_a_proj", "blk.{}.attn_q_a"),
                 layer_name(role::q_a_norm, "model.layers.{}.self_attn.q_a_layernorm", "blk.{}.attn_q_a_norm"),
                 layer_name(role::q_b, "model.layers.{}.self_attn.q_b_proj", "blk.{}.attn_q_b"),
                 layer_name(role::kv_a, "model.layers.{}.self_attn.kv_a_proj_with_mqa", "blk.{}.attn_kv_a_mqa"),
                 layer_name(role::kv_a_norm, "model.layers.{}.self_attn.kv_a_layernorm", "blk.{}.attn_kv_a_norm"),
                 layer_name(role::k_b, part(0, "model.layers.{}.self_attn.kv_b_proj"), "blk.{}.attn_k_b")
                     .in_hf(change::transposed),
                 layer_name(role::v_b, part(1, "model.layers.{}.self_attn.kv_b_proj"), "blk.{}.attn_v_b")};
};

template <> struct family<"deepseek_v2"> : deepseek_family {
  template <config C> using type = deepseek_v2<C>;
  using presets = list<DeepSeek_V2_Lite>;
  static constexpr std::string_view name = "deepseek_v2", gguf_name = "deepseek2", type_name = "cke::deepseek_v2";
  static constexpr bool is_gguf(std::string_view architecture, json metadata) {
    return architecture == gguf_name && !is_sigmoid(metadata);
  }
  static constexpr requirement must_be[] = {{"hidden_act", "silu"},      {"attention_bias", "false"},
                                            {"mlp_bias", "false"},       {"scoring_func", "softmax"},
                                            {"norm_topk_prob", "false"}, {"moe_layer_freq", "1"}};
  static constexpr config defaults{.vocab = 102400,
                                   .dim = 4096,
                                   .hidden = 11008,
                                   .expert_hidden = 1407,
                                   .layers = 32,
                                   .heads = 32,
                                   .experts = 64,
                                   .active = 0,
                                   .shared = 2};
  static constexpr config gguf_defaults{
      .vocab = 0, .dim = 0, .hidden = 0, .expert_hidden = 0, .layers = 0, .heads = 0, .q_rank = 0};
  static void to_gguf(const config& c, json, auto put) {
    latent_to_gguf(c, put);
    put("expert_gating_func", 1u);  // softmax
  }
  // Groups count only if the method of choosing experts uses them.
  static constexpr config_problem refuses(json root, naming as, const config& c) {
    const json method = root["topk_method"];
    const bool grouped = method.text() == "group_limited_greedy",
               known = grouped || !method.present() || method.text() == "greedy";
    if (as == naming::hf && (!known || (!grouped && c.groups_kept < c.groups)))
      return {trouble::unsupported, "topk_method", method.s, 0, 0, "greedy, or group_limited_greedy with groups"};
    return {};
  }
};

template <> struct family<"deepseek_v3"> : deepseek_family {
  template <config C> using type = deepseek_v3<C>;
  using presets = list<DeepSeek_V3>;
  static constexpr std::string_view name = "deepseek_v3", gguf_name = "deepseek2", type_name = "cke::deepseek_v3";
  static constexpr bool is_gguf(std::string_view architecture, json metadata) {
    return architecture == gguf_name && is_sigmoid(metadata);
  }
  static constexpr requirement must_be[] = {{"hidden_act", "silu"},      {"attention_bias", "false"},
                                            {"scoring_func", "sigmoid"}, {"topk_method", "noaux_tc"},
                                            {"rope_interleave", "true"}, {"moe_layer_freq", "1"}};
  static constexpr config defaults{.vocab = 129280,
                                   .dim = 7168,
                                   .hidden = 18432,
                                   .expert_hidden = 2048,
                                   .layers = 61,
                                   .heads = 128,
                                   .groups = 8,
                                   .groups_kept = 4,
                                   .dense_layers = 3,
                                   .weights_scale = 2.5,
                                   .renormalise = true};
  static constexpr config gguf_defaults{
      .vocab = 0, .dim = 0, .hidden = 0, .expert_hidden = 0, .layers = 0, .heads = 0, .q_rank = 0};
  static void to_gguf(const config& c, json, auto put) {
    latent_to_gguf(c, put);
    put("expert_gating_func", 2u);  // sigmoid
  }
};

}  // namespace cke

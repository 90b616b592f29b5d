// SPDX-License-Identifier: MIT
// nemotron_h.hpp: how files spell Nemotron-H and Nemotron 3.
#pragma once

#include "../family.hpp"
#include "../nemotron_h.hpp"

namespace cke {

// The kind of each layer, in words or in a pattern of letters: a mixer (M), attention (*), an mlp (-) or experts (E).
inline constexpr layer_words nemotron_h_attention{.in = {"full_attention", "attention", "*"},
                                                  .out = {"linear_attention", "mamba", "M", "mlp", "-", "moe", "E"}};
inline constexpr layer_words nemotron_h_feeding{
    .in = {"mlp", "-", "moe", "E"}, .out = {"linear_attention", "mamba", "M", "full_attention", "attention", "*"}};
inline constexpr layer_words nemotron_h_mixture{
    .in = {"moe", "E"}, .out = {"linear_attention", "mamba", "M", "full_attention", "attention", "*", "mlp", "-"}};
inline constexpr spellings nemotron_h_layers = either("layers_block_type", "hybrid_override_pattern");

template <> struct family<"nemotron_h"> : usual_family<nemotron_h_config> {
  using mamba = mamba_keys<config>;
  template <config C> using type = nemotron_h<C>;
  using presets = list<Nemotron_H_4B, Nemotron_H_8B>;
  static constexpr std::string_view name = "nemotron_h", type_name = "cke::nemotron_h";
  static constexpr bool is_gguf(std::string_view architecture, json) {
    return architecture == name || architecture == "nemotron_h_moe";
  }
  static constexpr bool predicts_ahead = true;  // files have layers for speculative decoding
  static constexpr config_key<config> keys[] = {
      key::vocab,
      key::dim,
      bind<&config::hidden>("intermediate_size", largest_of("feed_forward_length")).range(1, 1 << 22),
      bind<&config::layers>(
          either(count_of("layers_block_type"), count_of("hybrid_override_pattern"), "num_hidden_layers"),
          "block_count")
          .range(1, layer_set::most),
      key::heads,
      key::kv_heads.null_means(0),
      bind<&config::head_dim>(either("head_dim", "attention_head_dim"), "attention.key_length").range(2, 1024),
      key::routed_experts.optional(),
      key::active.optional(),
      key::expert_hidden,
      bind<&config::shared_hidden>("moe_shared_expert_intermediate_size", "expert_shared_feed_forward_length")
          .range(1, 1 << 22),
      bind<&config::latent>("moe_latent_size", "moe_latent_size").range(1, 1 << 20).optional(),
      key::groups,
      key::groups_kept,
      key::weights_scale,
      key::renormalise,
      bind<&config::ssm_heads>("mamba_num_heads", "ssm.time_step_rank").range(1, 65536),
      bind<&config::ssm_head_dim>("mamba_head_dim", "ssm.head_dim").range(1, 4096).shown(),
      mamba::state,
      mamba::ssm_groups,
      mamba::taps,
      bind<&config::attends>(nemotron_h_layers, list_of("attention.head_count_kv"))
          .among(nemotron_h_attention)
          .required(),
      bind<&config::feeds>(nemotron_h_layers, list_of("feed_forward_length")).among(nemotron_h_feeding).required(),
      bind<&config::sparse>(nemotron_h_layers).among(nemotron_h_mixture),
      mamba::eps,
      mamba::least_step,
      mamba::most_step,
      mamba::conv_bias,
      mamba::bias,
      key::mlp_bias,
      key::tied,
      key::no_rope};
  static constexpr requirement must_be[] = {{"mlp_hidden_act", "relu2"},     {"mamba_hidden_act", "silu"},
                                            {"attention_bias", "false"},     {"mamba_proj_bias", "false"},
                                            {"sliding_window", "null"},      {"n_shared_experts", "1"},
                                            {"tie_word_embeddings", "false"}};  // transformers does not tie them
  static constexpr config defaults{.vocab = 131072, .dim = 4096, .hidden = 21504, .layers = 0, .heads = 32};
  // A GGUF file with experts has no other mlps.
  static constexpr config gguf_defaults{.vocab = 0,
                                        .dim = 0,
                                        .hidden = 0,
                                        .layers = 0,
                                        .heads = 0,
                                        .kv_heads = 0,
                                        .experts = 0,
                                        .active = 0,
                                        .sparse = layer_set::up_to(layer_set::most)};
  static constexpr config finish(config c) {
    c.kv_heads = c.kv_heads ? c.kv_heads : c.heads;
    c.attends = c.attends.first(c.layers), c.feeds = c.feeds.first(c.layers), c.sparse = c.sparse.first(c.layers);
    for (u32 i = 0; i < std::size(c.sparse.bits); ++i) c.sparse.bits[i] &= c.experts ? c.feeds.bits[i] : 0;
    constexpr config usual{};
    if (c.sparse == layer_set{})
      c.experts = usual.experts, c.active = usual.active, c.expert_hidden = usual.expert_hidden,
      c.shared_hidden = usual.shared_hidden, c.latent = 0, c.groups = c.groups_kept = 1, c.weights_scale = 1,
      c.renormalise = true;
    if (c.sparse == c.feeds) c.hidden = c.expert_hidden;
    c.rope = no_rope(c.rope);
    return c;
  }
  static constexpr auto relations = std::array{divisor_of<&config::ssm_groups, &config::ssm_heads>,
                                               steps_in_order<config>, multiple_of<&config::heads, &config::kv_heads>,
                                               even<&config::head_dim>, at_most<&config::active, &config::experts>} +
      expert_groups<config>;
  static constexpr layer_matrices matrices(const config& c, u32 layer) {
    layer_matrices all;
    if (c.attends.has(layer)) return all.attention(c);
    if (!c.feeds.has(layer)) return mamba2_matrices(c.ssm_heads, c.ssm_head_dim, c.ssm_groups, c.state);
    if (!c.sparse.has(layer)) return all.add(role::up, c.hidden);
    all.add(role::router, c.experts)
        .add(role::up_experts, c.expert_hidden, c.latent)
        .add(role::up_shared, c.shared_hidden);
    return all.add(role::latent_down, c.latent);
  }
  static constexpr model_shape shape(const config& c) {
    return {.heads = c.heads,
            .kv_heads = c.kv_heads,
            .experts = c.sparse == layer_set{} ? 0 : c.experts,
            .ssm_groups = c.ssm_groups,
            .attends = &c.attends};
  }
  static constexpr std::string_view gguf_architecture_of(const config& c) {
    return c.sparse == layer_set{} ? "nemotron_h" : "nemotron_h_moe";
  }
  static void to_gguf(const config& c, json, auto put) {
    put("ssm.inner_size", c.ssm_heads * c.ssm_head_dim);
    put("feed_forward_length", [&](u32 layer) { return c.feeds.has(layer) ? c.hidden : 0; });
    put("attention.layer_norm_epsilon", static_cast<float>(c.eps));
    if (c.sparse != layer_set{}) put("expert_shared_count", 1u);
  }
  static constexpr auto names = common_names + backbone_rules +
      std::array{
          layer_name(role::q, "backbone.layers.{}.mixer.q_proj", "blk.{}.attn_q"),
          layer_name(role::k, "backbone.layers.{}.mixer.k_proj", "blk.{}.attn_k"),
          layer_name(role::v, "backbone.layers.{}.mixer.v_proj", "blk.{}.attn_v"),
          layer_name(role::o, "backbone.layers.{}.mixer.o_proj", "blk.{}.attn_output"),
          layer_name(role::up, "backbone.layers.{}.mixer.up_proj", "blk.{}.ffn_up"),
          layer_name(role::down, "backbone.layers.{}.mixer.down_proj", "blk.{}.ffn_down"),
          layer_name(role::router, "backbone.layers.{}.mixer.gate", "blk.{}.ffn_gate_inp"),
          layer_name(role::router_bias, exact("backbone.layers.{}.mixer.gate.e_score_correction_bias"),
                     exact("blk.{}.exp_probs_b.bias")),
          layer_name(
              role::up_experts,
              either("backbone.layers.{}.mixer.experts.{}.up_proj", exact("backbone.layers.{}.mixer.experts.up_proj")),
              "blk.{}.ffn_up_exps"),
          layer_name(role::down_experts,
                     either("backbone.layers.{}.mixer.experts.{}.down_proj",
                            exact("backbone.layers.{}.mixer.experts.down_proj")),
                     "blk.{}.ffn_down_exps"),
          layer_name(role::up_shared, "backbone.layers.{}.mixer.shared_experts.up_proj", "blk.{}.ffn_up_shexp"),
          layer_name(role::down_shared, "backbone.layers.{}.mixer.shared_experts.down_proj", "blk.{}.ffn_down_shexp"),
          layer_name(role::latent_down, "backbone.layers.{}.mixer.fc1_latent_proj", "blk.{}.ffn_latent_down"),
          layer_name(role::latent_up, "backbone.layers.{}.mixer.fc2_latent_proj", "blk.{}.ffn_latent_up")};
};

}  // namespace cke

// SPDX-License-Identifier: MIT
// granitemoehybrid.hpp: how files spell Granite 4.
#pragma once

#include "../family.hpp"
#include "../granitemoehybrid.hpp"

namespace cke {

inline constexpr layer_words granite_attends{.in = {"full_attention", "attention"},
                                             .out = {"linear_attention", "mamba"}};
inline constexpr layer_words granite_turned{.in = {"rope"}, .out = {"nope"}};

template <> struct family<"granitemoehybrid"> : usual_family<granitemoehybrid_config> {
  template <config C> using type = granitemoehybrid<C>;
  using presets = list<Granite_4_0_H_350M>;
  using granite = granite_keys<config>;
  using mamba = mamba_keys<config>;
  static constexpr std::string_view name = "granitemoehybrid", gguf_name = "granitehybrid",
                                    type_name = "cke::granitemoehybrid";
  static constexpr config_key<config> keys[] = {
      key::vocab,
      key::dim,
      key::layers,
      key::heads,
      key::kv_heads,
      key::head_dim,
      key::eps,
      key::tied,
      key::attention_bias,
      key::rope,
      bind<&config::hidden>("shared_intermediate_size",
                            either("expert_shared_feed_forward_length", "feed_forward_length"))
          .range(1, 1 << 22),
      bind<&config::experts>("num_local_experts", "expert_count").range(0, 4096),
      bind<&config::active>("num_experts_per_tok", "expert_used_count").range(0, 4096),
      bind<&config::expert_hidden>("intermediate_size", "feed_forward_length").range(0, 1 << 22),
      bind<&config::ssm_heads>("mamba_n_heads", "ssm.time_step_rank").range(1, 65536),
      bind<&config::ssm_head_dim>("mamba_d_head", "ssm.head_dim").range(1, 4096).optional().absent_if("auto").shown(),
      mamba::state,
      mamba::ssm_groups,
      mamba::taps,
      mamba::least_step,
      mamba::most_step,
      mamba::conv_bias,
      bind<&config::bias>("mamba_proj_bias"),
      granite::embedding_multiplier,
      granite::attention_multiplier,
      granite::residual_multiplier,
      granite::logits_scaling,
      bind<&config::attends>(either("layer_types", "layers_block_type"), list_of("attention.head_count_kv"))
          .among(granite_attends),
      bind<&config::turned>("position_embedding_type", "rope.scaling.finetuned").among(granite_turned)};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}};
  static constexpr config defaults{.vocab = 32000,
                                   .dim = 4096,
                                   .hidden = 1024,
                                   .layers = 32,
                                   .heads = 32,
                                   .kv_heads = 0,
                                   .experts = 8,
                                   .active = 2,
                                   .expert_hidden = 11008,
                                   .ssm_heads = 128,
                                   .state = 256,
                                   .embedding_multiplier = 1,
                                   .attention_multiplier = 1,
                                   .residual_multiplier = 1,
                                   .logits_scaling = 1,
                                   .eps = 1e-6,
                                   .tied = false};
  static constexpr config gguf_defaults{.vocab = 0,
                                        .dim = 0,
                                        .hidden = 0,
                                        .layers = 0,
                                        .heads = 0,
                                        .kv_heads = 0,
                                        .ssm_heads = 1,
                                        .embedding_multiplier = 1,
                                        .attention_multiplier = 0,
                                        .residual_multiplier = 1,
                                        .logits_scaling = 1,
                                        .turned = layer_set::up_to(layer_set::most)};
  static constexpr config finish(config c) {
    c = usual_family::finish(c);
    c.ssm_head_dim = granitemoehybrid_space(c).head_dim;
    c.attends = c.attends.first(c.layers);
    if (c.experts == 0) c.active = c.expert_hidden = 0;
    c.turned = c.turned.has(0) ? layer_set::up_to(c.layers) : layer_set{};
    if (!c.turned.has(0)) c.rope = no_rope(c.rope);
    return c;
  }
  static constexpr std::array relations{
      relation<config>{member_name<&config::active>(), [](const config& c) { return c.experts == 0 || c.active > 0; },
                       "at least 1"},
      relation<config>{member_name<&config::expert_hidden>(),
                       [](const config& c) { return c.experts == 0 || c.expert_hidden > 0; }, "at least 1"},
      divisor_of<&config::ssm_groups, &config::ssm_heads>,
      steps_in_order<config>,
      multiple_of<&config::heads, &config::kv_heads>,
      even<&config::head_dim>,
      at_most<&config::active, &config::experts>};
  // The mixers' width is 2 dim where the size of their heads does not say it.
  static constexpr config_problem refuses(json root, naming as, const config&) {
    const json expand = root["mamba_expand"];
    if (as == naming::gguf || root["mamba_d_head"].is_number() || !expand.present() || expand.number() == 2) return {};
    return {trouble::unsupported, "mamba_expand", expand.s, 0, 0, "2 where mamba_d_head is auto or absent"};
  }
  static constexpr layer_matrices matrices(const config& c, u32 layer) {
    layer_matrices all;
    if (c.attends.has(layer)) all.attention(c);
    else all = mamba2_matrices(c.ssm_heads, c.ssm_head_dim, c.ssm_groups, c.state);
    return c.experts == 0 ? all.mlp(c.hidden) : all.experts(c.experts, c.expert_hidden).shared_expert(c.hidden);
  }
  static constexpr model_shape shape(const config& c) {
    return {.heads = c.heads,
            .kv_heads = c.kv_heads,
            .experts = c.experts,
            .ssm_groups = c.ssm_groups,
            .attends = &c.attends};
  }
  static void to_gguf(const config& c, json, auto put) {
    put("ssm.inner_size", c.ssm_heads * c.ssm_head_dim);
    put("feed_forward_length", c.experts ? c.expert_hidden : c.hidden);
    put("expert_shared_feed_forward_length", c.hidden);
    put("rope.scaling.finetuned", c.turned.has(0));
  }
  static constexpr auto names = expert_names + paired_rules + granite_expert_rules +
      std::array{
          layer_name(role::gate, part(0, "model.layers.{}.shared_mlp.input_linear"), "blk.{}.ffn_gate"),
          layer_name(role::up, part(1, "model.layers.{}.shared_mlp.input_linear"), "blk.{}.ffn_up"),
          layer_name(role::down, "model.layers.{}.shared_mlp.output_linear", "blk.{}.ffn_down"),
          layer_name(role::gate_shared, part(0, "model.layers.{}.shared_mlp.input_linear"), "blk.{}.ffn_gate_shexp"),
          layer_name(role::up_shared, part(1, "model.layers.{}.shared_mlp.input_linear"), "blk.{}.ffn_up_shexp"),
          layer_name(role::down_shared, "model.layers.{}.shared_mlp.output_linear", "blk.{}.ffn_down_shexp"),
          layer_name(role::ssm_gate, part(0, "model.layers.{}.mamba.in_proj"), part(0, "blk.{}.ssm_in")),
          layer_name(role::ssm_in, part(1, "model.layers.{}.mamba.in_proj"), part(1, "blk.{}.ssm_in")),
          layer_name(role::ssm_step, part(2, "model.layers.{}.mamba.in_proj"), part(2, "blk.{}.ssm_in")),
          layer_name(role::conv, "model.layers.{}.mamba.conv1d", "blk.{}.ssm_conv1d"),
          layer_name(role::decay, exact("model.layers.{}.mamba.A_log"), exact("blk.{}.ssm_a"))
              .in_gguf(change::minus_exp),
          layer_name(role::step_bias, exact("model.layers.{}.mamba.dt_bias"), exact("blk.{}.ssm_dt.bias")),
          layer_name(role::skip, exact("model.layers.{}.mamba.D"), exact("blk.{}.ssm_d")),
          layer_name(role::ssm_norm, "model.layers.{}.mamba.norm", "blk.{}.ssm_norm"),
          layer_name(role::ssm_out, "model.layers.{}.mamba.out_proj", "blk.{}.ssm_out")};
};

}  // namespace cke

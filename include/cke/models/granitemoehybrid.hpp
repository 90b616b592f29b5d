// SPDX-License-Identifier: MIT
// granitemoehybrid.hpp: Granite 4: Granite's multipliers; most layers are mamba2 mixers, few attend, and an mlp goes with experts or alone.
#pragma once

#include "granitemoe.hpp"
#include "mamba2.hpp"

namespace cke {

struct granitemoehybrid_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads, head_dim{};  // hidden: of the mlp; head_dim 0: dim / heads
  u32 experts{}, active{}, expert_hidden{};
  u32 ssm_heads, ssm_head_dim{}, state = 128, ssm_groups = 1, taps = 4;  // ssm_head_dim 0: 2 dim / ssm_heads
  layer_set attends{};
  real embedding_multiplier = 12, attention_multiplier = 0.015625, residual_multiplier = 0.22, logits_scaling = 8;
  real eps = 1e-5, least_step{}, most_step = 1e300;
  bool conv_bias = true, bias{}, tied = true, attention_bias{};
  layer_set turned{};
  rotary rope{.theta = 1e4};
};

constexpr attention_options granitemoehybrid_attend(const granitemoehybrid_config& c) {
  attention_options a = granite_attend(c);
  if (!c.turned.has(0)) a.rope = {};
  return a;
}
constexpr mamba_options granitemoehybrid_space(const granitemoehybrid_config& c) {
  return {.dim = c.dim, .heads = c.ssm_heads, .head_dim = c.ssm_head_dim ? c.ssm_head_dim : 2 * c.dim / c.ssm_heads, .state = c.state, .groups = c.ssm_groups,
          .taps = c.taps, .eps = c.eps, .least_step = c.least_step, .most_step = c.most_step, .conv_bias = c.conv_bias, .bias = c.bias};
}

template <granitemoehybrid_config C> using granitemoehybrid_mlp = std::conditional_t<C.experts == 0,
    gated_mlp<C.dim, C.hidden, activation::silu>,
    moe<moe_options{.dim = C.dim, .hidden = C.expert_hidden, .route = {.experts = C.experts, .active = C.active, .score = scoring::softmax_of_chosen},
                .shared = C.hidden}>>;
template <granitemoehybrid_config C, class Mixer> using granitemoehybrid_layer = block<
    residual<rms_norm<C.dim, C.eps>, Mixer, scale<C.dim, C.residual_multiplier>>,
    residual<rms_norm<C.dim, C.eps>, granitemoehybrid_mlp<C>, scale<C.dim, C.residual_multiplier>>>;

template <granitemoehybrid_config C> struct granitemoehybrid : network<
    embedding<C.vocab, C.dim>,
    scale<C.dim, C.embedding_multiplier>,
    arrange<order_of<C.layers>(C.attends),
        granitemoehybrid_layer<C, mamba_mixer<granitemoehybrid_space(C)>>, granitemoehybrid_layer<C, attention<granitemoehybrid_attend(C)>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>,
    scale<C.vocab, 1 / C.logits_scaling.v>> {
  using family = cke::family<"granitemoehybrid">;
  static constexpr granitemoehybrid_config config = C;
};

template <> struct family<"granitemoehybrid"> {
  using config = granitemoehybrid_config;
  template <config C> using type = granitemoehybrid<C>;
  static constexpr std::string_view name = "granitemoehybrid", gguf_name = "granitehybrid", header = "cke/models/granitemoehybrid.hpp",
                                    type_name = "cke::granitemoehybrid";
  static constexpr config_key keys[] = {
      key::vocab.or_default(), key::dim.or_default(),
      {"hidden", "shared_intermediate_size", "expert_shared_feed_forward_length|feed_forward_length", true, 1, 1 << 22},
      key::layers.or_default(), key::heads.or_default(), key::kv_heads, key::head_dim,
      {"experts", "num_local_experts", "expert_count", true, 0, 4096}, {"active", "num_experts_per_tok", "expert_used_count", true, 0, 4096},
      {"expert_hidden", "intermediate_size", "feed_forward_length", true, 0, 1 << 22},
      {"ssm_heads", "mamba_n_heads", "ssm.time_step_rank", true, 1, 65536}, {.field = "ssm_head_dim", .hf = "mamba_d_head", .gguf = "ssm.head_dim", .optional = true, .least = 1, .most = 4096, .absent = "auto"},
      key::ssm_state, key::ssm_groups, key::ssm_taps,
      {"attends", "layer_types|layers_block_type", "attends", true, 1, layer_set::most, -1, "linear_attention|mamba or full_attention|attention"},
      key::embedding_multiplier, key::attention_multiplier, key::residual_multiplier, key::logits_scaling, key::eps, key::least_step,
      key::most_step, key::ssm_conv_bias, {"bias", "mamba_proj_bias", "", true, 0, 1}, key::tied, key::attention_bias,
      {"turned", "position_embedding_type", "rope.scaling.finetuned", true, 1, layer_set::most, -1, "nope or rope"}, key::rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}};
  static constexpr config defaults{.vocab = 32000, .dim = 4096, .hidden = 1024, .layers = 32, .heads = 32, .kv_heads = 0, .experts = 8, .active = 2,
                                   .expert_hidden = 11008, .ssm_heads = 128, .state = 256, .embedding_multiplier = 1, .attention_multiplier = 1,
                                   .residual_multiplier = 1, .logits_scaling = 1, .eps = 1e-6, .tied = false};
  static constexpr config gguf_defaults{.vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0, .kv_heads = 0, .ssm_heads = 1,
                                        .embedding_multiplier = 1, .attention_multiplier = 0, .residual_multiplier = 1, .logits_scaling = 1,
                                        .turned = layer_set::up_to(layer_set::most)};
  static constexpr config finish(config c) {
    c.kv_heads = c.kv_heads ? c.kv_heads : c.heads;
    c.head_dim = c.head_dim || c.heads == 0 ? c.head_dim : c.dim / c.heads;
    c.ssm_head_dim = granitemoehybrid_space(c).head_dim;
    c.attends = c.attends.first(c.layers);
    if (c.experts == 0) c.active = c.expert_hidden = 0;
    c.turned = c.turned.has(0) ? layer_set::up_to(c.layers) : layer_set{};
    if (!c.turned.has(0)) c.rope = no_rope(c.rope);
    return c;
  }
  static constexpr config_problem refuses(json, naming, const config& c) {
    if (c.experts && (c.active == 0 || c.expert_hidden == 0)) return {trouble::unsupported, c.active ? "intermediate_size" : "num_experts_per_tok", {}, 0, 0, "at least 1"};
    return mamba2_problem(c.ssm_heads, c.ssm_groups, c.least_step, c.most_step);
  }
  static constexpr auto matrices(const config& c, u32 layer) {
    small_vector<layer_matrix, 12> all;
    const auto put = [&](const auto& some) { for (const layer_matrix& m : some) all.push(m); };
    const u64 narrow = u64{c.kv_heads} * c.head_dim;
    if (c.attends.has(layer)) put(std::initializer_list<layer_matrix>{{role::q, u64{c.heads} * c.head_dim}, {role::k, narrow}, {role::v, narrow}});
    else put(mamba2_matrices(c.ssm_heads, c.ssm_head_dim, c.ssm_groups, c.state));
    if (c.experts == 0) put(std::initializer_list<layer_matrix>{{role::gate, c.hidden}, {role::up, c.hidden}});
    else put(std::initializer_list<layer_matrix>{{role::router, c.experts}, {role::gate_experts, c.expert_hidden}, {role::up_experts, c.expert_hidden},
                                                 {role::gate_shared, c.hidden}, {role::up_shared, c.hidden}});
    return all;
  }
  static void to_gguf(const config& c, json, auto put) {
    put("ssm.inner_size", c.ssm_heads * c.ssm_head_dim);
    put("feed_forward_length", c.experts ? c.expert_hidden : c.hidden);
    put("expert_shared_feed_forward_length", c.hidden);
    put("rope.scaling.finetuned", c.turned.has(0));
  }
  static constexpr auto names = expert_names + paired_rules + granite_expert_rules + std::array{
      name_rule{place::body, role::gate, 0, "model.layers.{}.shared_mlp.input_linear[0]", "blk.{}.ffn_gate"},
      name_rule{place::body, role::up, 0, "model.layers.{}.shared_mlp.input_linear[1]", "blk.{}.ffn_up"},
      name_rule{place::body, role::down, 0, "model.layers.{}.shared_mlp.output_linear", "blk.{}.ffn_down"},
      name_rule{place::body, role::gate_shared, 0, "model.layers.{}.shared_mlp.input_linear[0]", "blk.{}.ffn_gate_shexp"},
      name_rule{place::body, role::up_shared, 0, "model.layers.{}.shared_mlp.input_linear[1]", "blk.{}.ffn_up_shexp"},
      name_rule{place::body, role::down_shared, 0, "model.layers.{}.shared_mlp.output_linear", "blk.{}.ffn_down_shexp"},
      name_rule{place::body, role::ssm_gate, 0, "model.layers.{}.mamba.in_proj[0]", "blk.{}.ssm_in[0]"},
      name_rule{place::body, role::ssm_in, 0, "model.layers.{}.mamba.in_proj[1]", "blk.{}.ssm_in[1]"},
      name_rule{place::body, role::ssm_step, 0, "model.layers.{}.mamba.in_proj[2]", "blk.{}.ssm_in[2]"},
      name_rule{place::body, role::conv, 0, "model.layers.{}.mamba.conv1d", "blk.{}.ssm_conv1d"},
      name_rule{place::body, role::decay, 0, "=model.layers.{}.mamba.A_log", "=blk.{}.ssm_a", change::minus_exp},
      name_rule{place::body, role::step_bias, 0, "=model.layers.{}.mamba.dt_bias", "=blk.{}.ssm_dt.bias"},
      name_rule{place::body, role::skip, 0, "=model.layers.{}.mamba.D", "=blk.{}.ssm_d"},
      name_rule{place::body, role::ssm_norm, 0, "model.layers.{}.mamba.norm", "blk.{}.ssm_norm"},
      name_rule{place::body, role::ssm_out, 0, "model.layers.{}.mamba.out_proj", "blk.{}.ssm_out"}};
};

struct Granite_4_0_H_350M : granitemoehybrid<granitemoehybrid_config{.vocab = 100352, .dim = 768, .hidden = 2048, .layers = 32, .heads = 12, .kv_heads = 4, .ssm_heads = 48, .ssm_head_dim = 32, .attends = layer_set::of({10, 13, 17, 27}), .residual_multiplier = 0.246, .logits_scaling = 3}> {};

}  // namespace cke

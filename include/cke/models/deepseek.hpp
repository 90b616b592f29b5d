// SPDX-License-Identifier: MIT
// deepseek.hpp: DeepSeek-V2 and V3: latent attention; dense layers first, then experts in groups beside a shared one.
#pragma once

#include "family.hpp"

namespace cke {

struct deepseek_config {
  u32 vocab, dim, hidden, expert_hidden, layers, heads, q_rank = 1536, kv_rank = 512, nope = 128, head_dim = 64, value = 128;  // head_dim: what is turned
  u32 experts = 256, active = 8, shared = 1, groups = 1, groups_kept = 1, dense_layers{};
  real weights_scale = 1;
  bool renormalise{};
  real eps = 1e-6;
  bool tied{};
  rotary rope{.theta = 1e4, .pairs = pairing::adjacent};
};

// Scores are scaled by yarn's temperature, squared, too.
constexpr real deepseek_scale(const deepseek_config& c) {
  const rotary& r = c.rope;
  const double stretched = r.factor.v != 0 || r.original == 0 ? r.factor.v : static_cast<double>(r.max_position) / r.original;
  const double m = r.rule == rope_scaling::none || stretched <= 1 ? 1 : 0.1 * r.mscale_all.v * natural_log(stretched) + 1;
  return m * m / root(c.nope + c.head_dim);
}
constexpr latent_attention_options deepseek_latent(const deepseek_config& c) {
  rotary rope = c.rope;
  rope.dims = c.head_dim;
  return {.dim = c.dim, .heads = c.heads, .q_rank = c.q_rank, .kv_rank = c.kv_rank, .nope = c.nope, .value = c.value, .rope = rope,
          .scale = deepseek_scale(c)};
}
// V3 chooses by sigmoid scores and a bias, and groups by their best two; V2 by softmax scores, and groups by their best.
constexpr router deepseek_router(const deepseek_config& c, bool v3) {
  return {.experts = c.experts, .active = c.active, .score = v3 ? scoring::sigmoid : scoring::softmax, .bias = v3, .groups = c.groups,
          .groups_kept = c.groups_kept, .group_by = v3 ? group_score::best_two : group_score::best, .renormalise = c.renormalise,
          .scale = c.weights_scale};
}

template <deepseek_config C, class Mlp> using deepseek_layer = block<
    residual<rms_norm<C.dim, C.eps>, latent_attention<deepseek_latent(C)>>,
    residual<rms_norm<C.dim, C.eps>, Mlp>>;

template <deepseek_config C, bool V3> using deepseek_layers = arrange<order_of<C.layers>(layer_set::up_to(C.dense_layers)),
    deepseek_layer<C, moe<moe_options{.dim = C.dim, .hidden = C.expert_hidden, .route = deepseek_router(C, V3), .shared = C.shared * C.expert_hidden}>>,
    deepseek_layer<C, gated_mlp<C.dim, C.hidden, activation::silu>>>;

template <deepseek_config C> struct deepseek_v2 : network<
    embedding<C.vocab, C.dim>, deepseek_layers<C, false>, rms_norm<C.dim, C.eps>, head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"deepseek_v2">;
  static constexpr deepseek_config config = C;
};
template <deepseek_config C> struct deepseek_v3 : network<
    embedding<C.vocab, C.dim>, deepseek_layers<C, true>, rms_norm<C.dim, C.eps>, head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"deepseek_v3">;
  static constexpr deepseek_config config = C;
};

// What both families say of themselves.
struct deepseek_family {
  using config = deepseek_config;
  static constexpr std::string_view header = "cke/models/deepseek.hpp";
  static constexpr bool predicts_ahead = true;  // files have layers after the last, for speculation
  static constexpr config_key keys[] = {
      key::vocab.or_default(), key::dim.or_default(), key::hidden.or_default(), key::expert_hidden.or_default(), key::layers.or_default(),
      key::heads.or_default(), {"q_rank", "q_lora_rank", "attention.q_lora_rank", true, 1, 1 << 20, 0},
      {"kv_rank", "kv_lora_rank", "attention.kv_lora_rank", true, 1, 1 << 16}, {"nope", "qk_nope_head_dim", "attention.key_length_nope", true, 1, 1 << 16},
      {"head_dim", "qk_rope_head_dim", "rope.dimension_count", true, 2, 1024}, {"value", "v_head_dim", "attention.value_length_mla", true, 1, 1 << 16},
      key::experts.or_default(), key::active.or_default(), {"shared", "n_shared_experts", "expert_shared_count", true, 1, 4096}, key::groups,
      key::groups_kept, key::dense_layers, key::weights_scale, key::renormalise, key::eps, key::tied, key::rope};

  static constexpr config finish(config c) {
    c.rope.dims = c.head_dim;
    return c;
  }
  static constexpr small_vector<layer_matrix, 8> matrices(const config& c, u32 layer) {
    const bool dense = layer < c.dense_layers;
    small_vector<layer_matrix, 8> all;
    for (const layer_matrix& m : {layer_matrix{c.q_rank ? role::q_a : role::q, c.q_rank ? c.q_rank : u64{c.heads} * (c.nope + c.head_dim)},
                                  {role::kv_a, u64{c.kv_rank} + c.head_dim}, {role::gate, dense ? c.hidden : 0}, {role::up, dense ? c.hidden : 0},
                                  {role::router, dense ? 0 : c.experts}, {role::gate_experts, dense ? 0 : c.expert_hidden},
                                  {role::up_experts, dense ? 0 : c.expert_hidden}})
      if (m.rows) all.push(m);
    return all;
  }
  // The cache that llama.cpp keeps is of one head, whose keys are the latent and what is turned.
  static void latent_to_gguf(const config& c, auto put) {
    put("attention.head_count_kv", 1u);
    put("attention.key_length", c.kv_rank + c.head_dim);
    put("attention.value_length", c.kv_rank);
    put("attention.key_length_mla", c.nope + c.head_dim);
    if (c.rope.mscale_all.v != 0) put("rope.scaling.yarn_log_multiplier", static_cast<float>(0.1 * c.rope.mscale_all.v));
  }
  static constexpr auto names = expert_names + std::array{
      name_rule{place::body, role::q_a, 0, "model.layers.{}.self_attn.q_a_proj", "blk.{}.attn_q_a"},
      name_rule{place::body, role::q_a_norm, 0, "model.layers.{}.self_attn.q_a_layernorm", "blk.{}.attn_q_a_norm"},
      name_rule{place::body, role::q_b, 0, "model.layers.{}.self_attn.q_b_proj", "blk.{}.attn_q_b"},
      name_rule{place::body, role::kv_a, 0, "model.layers.{}.self_attn.kv_a_proj_with_mqa", "blk.{}.attn_kv_a_mqa"},
      name_rule{place::body, role::kv_a_norm, 0, "model.layers.{}.self_attn.kv_a_layernorm", "blk.{}.attn_kv_a_norm"},
      name_rule{place::body, role::k_b, 0, "model.layers.{}.self_attn.kv_b_proj[0]", "blk.{}.attn_k_b", change::none, change::transposed},
      name_rule{place::body, role::v_b, 0, "model.layers.{}.self_attn.kv_b_proj[1]", "blk.{}.attn_v_b"}};
};

template <> struct family<"deepseek_v2"> : deepseek_family {
  template <config C> using type = deepseek_v2<C>;
  static constexpr std::string_view name = "deepseek_v2", gguf_name = "deepseek2", type_name = "cke::deepseek_v2";
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}, {"attention_bias", "false"}, {"mlp_bias", "false"}, {"scoring_func", "softmax"},
                                            {"norm_topk_prob", "false"}, {"moe_layer_freq", "1"}};
  static constexpr config defaults{.vocab = 102400, .dim = 4096, .hidden = 11008, .expert_hidden = 1407, .layers = 32, .heads = 32, .experts = 64,
                                   .active = 0, .shared = 2};
  static constexpr config gguf_defaults{.vocab = 0, .dim = 0, .hidden = 0, .expert_hidden = 0, .layers = 0, .heads = 0, .q_rank = 0};
  static void to_gguf(const config& c, json, auto put) {
    latent_to_gguf(c, put);
    put("expert_gating_func", 1u);  // softmax
  }
  // Groups count only where the way of choosing says so.
  static constexpr config_problem refuses(json root, naming as, const config& c) {
    const json method = root["topk_method"];
    const bool grouped = method.text() == "group_limited_greedy", known = grouped || !method.present() || method.text() == "greedy";
    if (as == naming::hf && (!known || (!grouped && c.groups_kept < c.groups)))
      return {trouble::unsupported, "topk_method", method.s, 0, 0, "greedy, or group_limited_greedy with groups"};
    return {};
  }
};
template <> struct family<"deepseek_v3"> : deepseek_family {
  template <config C> using type = deepseek_v3<C>;
  static constexpr std::string_view name = "deepseek_v3", gguf_architecture = "deepseek2", type_name = "cke::deepseek_v3";
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}, {"attention_bias", "false"}, {"scoring_func", "sigmoid"}, {"topk_method", "noaux_tc"},
                                            {"rope_interleave", "true"}, {"moe_layer_freq", "1"}};
  static constexpr config defaults{.vocab = 129280, .dim = 7168, .hidden = 18432, .expert_hidden = 2048, .layers = 61, .heads = 128, .groups = 8,
                                   .groups_kept = 4, .dense_layers = 3, .weights_scale = 2.5, .renormalise = true};
  static constexpr config gguf_defaults{.vocab = 0, .dim = 0, .hidden = 0, .expert_hidden = 0, .layers = 0, .heads = 0, .q_rank = 0};
  static void to_gguf(const config& c, json, auto put) {
    latent_to_gguf(c, put);
    put("expert_gating_func", 2u);  // sigmoid
  }
};

struct DeepSeek_V2_Lite : deepseek_v2<deepseek_config{.vocab = 102400, .dim = 2048, .hidden = 10944, .expert_hidden = 1408, .layers = 27, .heads = 16, .q_rank = 0, .experts = 64, .active = 6, .shared = 2, .dense_layers = 1, .rope = {.theta = 1e4, .pairs = pairing::adjacent, .rule = rope_scaling::yarn, .factor = 40, .mscale = 0.707, .mscale_all = 0.707, .original = 4096, .max_position = 163840}}> {};
struct DeepSeek_V3 : deepseek_v3<deepseek_config{.vocab = 129280, .dim = 7168, .hidden = 18432, .expert_hidden = 2048, .layers = 61, .heads = 128, .groups = 8, .groups_kept = 4, .dense_layers = 3, .weights_scale = 2.5, .renormalise = true, .rope = {.theta = 1e4, .pairs = pairing::adjacent, .rule = rope_scaling::yarn, .factor = 40, .mscale = 1, .mscale_all = 1, .original = 4096, .max_position = 163840}}> {};

}  // namespace cke

// SPDX-License-Identifier: MIT
// gemma4.hpp: Gemma 4, its text part: sliding and full layers of their own head sizes; the last ones read the caches of earlier
// ones; in small models every layer adds an embedding of its own, in large ones experts stand beside the mlp.
#pragma once

#include <span>

#include "family.hpp"

namespace cke {

struct gemma4_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads, head_dim = 256, global_head_dim = 512, global_kv_heads{}, window = 512;
  layer_set sliding = layer_set::all_but_every(6);
  u32 shared_layers{};  // the last ones, which have no k and v of their own
  bool double_wide{};   // their mlp is
  bool k_is_v{};        // in full layers: v is k before norm and rope
  u32 part = 256;       // of a token's embedding, for each layer; 0: none
  u32 experts{}, active{}, expert_hidden{};
  real eps = 1e-6, logit_cap{};
  bool tied = true;
  rotary rope{.theta = 1e6, .rule = rope_scaling::proportional}, local_rope{.theta = 1e4};  // dims 0: a quarter, all
};

// Layers are of four kinds: sliding and full, each with a cache or sharing one.
template <gemma4_config C> constexpr std::array<u8, C.layers> gemma4_order() {
  std::array<u8, C.layers> order{};
  for (u32 i = 0; i < C.layers; ++i) order[i] = static_cast<u8>(!C.sliding.has(i) + 2 * (i + C.shared_layers >= C.layers));
  return order;
}
constexpr u32 gemma4_kv_heads(const gemma4_config& c) { return c.k_is_v && c.global_kv_heads ? c.global_kv_heads : c.kv_heads; }

constexpr attention_options gemma4_attend(const gemma4_config& c, bool full, bool shared) {
  rotary rope = full ? c.rope : c.local_rope;
  const u32 head_dim = full ? c.global_head_dim : c.head_dim;
  rope.dims = rope.dims ? rope.dims : full ? 2 * (head_dim / 8) : head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = full ? gemma4_kv_heads(c) : c.kv_heads, .head_dim = head_dim, .rope = rope,
          .qk_norm = {c.eps}, .v_norm = {c.eps, full && c.k_is_v}, .window = full ? everything : c.window, .scale = 1, .shared_kv = shared};
}

template <gemma4_config C, bool Shared> using gemma4_mlp =
    chain<rms_norm<C.dim, C.eps>, gated_mlp<C.dim, Shared && C.double_wide ? 2 * C.hidden : C.hidden, activation::gelu_tanh>, rms_norm<C.dim, C.eps>>;

template <gemma4_config C, bool Shared> struct gemma4_feed_forward {
  using type = residual<gemma4_mlp<C, Shared>>;
};
template <gemma4_config C, bool Shared>
  requires(C.experts > 0)
struct gemma4_feed_forward<C, Shared> {
  using type = residual<
      sum<gemma4_mlp<C, Shared>,
          chain<rms_norm<C.dim, C.eps>,
                moe<moe_options{.dim = C.dim, .hidden = C.expert_hidden,
                            .route = {.experts = C.experts, .active = C.active, .renormalise = true, .expert_scale = true},
                            .act = activation::gelu_tanh, .router_norm = C.eps}>,
                rms_norm<C.dim, C.eps>>>,
      rms_norm<C.dim, C.eps>>;
};

template <gemma4_config C, bool Full, bool Shared, class... Rest> using gemma4_layer_with = block<
    residual<rms_norm<C.dim, C.eps>, attention<gemma4_attend(C, Full, Shared)>, rms_norm<C.dim, C.eps>>,
    typename gemma4_feed_forward<C, Shared>::type, Rest..., learned_scale<C.dim>>;
template <gemma4_config C, bool Full, bool Shared> struct gemma4_layer {
  using type = gemma4_layer_with<C, Full, Shared>;
};
template <gemma4_config C, bool Full, bool Shared>
  requires(C.part > 0)
struct gemma4_layer<C, Full, Shared> {
  using type = gemma4_layer_with<C, Full, Shared, residual<layer_input<C.dim, C.part, activation::gelu_tanh>, rms_norm<C.dim, C.eps>>>;
};

// Norms are numbered as they stand in the layer: those of the experts' branch before that of the sum.
inline constexpr auto gemma4_common_names = common_names + expert_rules + std::array{
    name_rule{place::header, role::layer_embed, 0, "model.embed_tokens_per_layer", "per_layer_token_embd"},
    name_rule{place::header, role::layer_project, 0, "model.per_layer_model_projection", "per_layer_model_proj"},
    name_rule{place::header, role::layer_project_norm, 0, "model.per_layer_projection_norm", "per_layer_proj_norm"},
    name_rule{place::body, role::norm, 1, "model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm"},
    name_rule{place::body, role::norm, 2, "model.layers.{}.pre_feedforward_layernorm", "blk.{}.ffn_norm"},
    name_rule{place::body, role::layer_gate, 0, "model.layers.{}.per_layer_input_gate", "blk.{}.inp_gate"},
    name_rule{place::body, role::layer_out, 0, "model.layers.{}.per_layer_projection", "blk.{}.proj"},
    name_rule{place::body, role::layer_scalar, 0, "=model.layers.{}.layer_scalar", "blk.{}.layer_output_scale"},
    name_rule{place::body, role::router, 0, "model.layers.{}.router.proj", "blk.{}.ffn_gate_inp"},
    name_rule{place::body, role::router_norm, 0, "=model.layers.{}.router.scale", "=blk.{}.ffn_gate_inp.scale"},
    name_rule{place::body, role::expert_scale, 0, "=model.layers.{}.router.per_expert_scale", "=blk.{}.ffn_down_exps.scale"},
    name_rule{place::body, role::gate_experts, 0, "=model.layers.{}.experts.gate_up_proj[0]", "blk.{}.ffn_gate_up_exps[0]"},
    name_rule{place::body, role::up_experts, 0, "=model.layers.{}.experts.gate_up_proj[1]", "blk.{}.ffn_gate_up_exps[1]"},
    name_rule{place::body, role::down_experts, 0, "=model.layers.{}.experts.down_proj", "blk.{}.ffn_down_exps"}};
inline constexpr auto gemma4_names = gemma4_common_names + std::array{
    name_rule{place::body, role::norm, 3, "model.layers.{}.post_feedforward_layernorm", "blk.{}.post_ffw_norm"},
    name_rule{place::body, role::norm, 4, "model.layers.{}.post_per_layer_input_norm", "blk.{}.post_norm"}};
inline constexpr auto gemma4_expert_names = gemma4_common_names + std::array{
    name_rule{place::body, role::norm, 3, "model.layers.{}.post_feedforward_layernorm_1", "blk.{}.post_ffw_norm_1"},
    name_rule{place::body, role::norm, 4, "model.layers.{}.pre_feedforward_layernorm_2", "blk.{}.pre_ffw_norm_2"},
    name_rule{place::body, role::norm, 5, "model.layers.{}.post_feedforward_layernorm_2", "blk.{}.post_ffw_norm_2"},
    name_rule{place::body, role::norm, 6, "model.layers.{}.post_feedforward_layernorm", "blk.{}.post_ffw_norm"},
    name_rule{place::body, role::norm, 7, "model.layers.{}.post_per_layer_input_norm", "blk.{}.post_norm"}};

template <gemma4_config C> struct gemma4 : network<
    embedding<C.vocab, C.dim>,
    scale<C.dim, root(C.dim)>,
    layer_embedding<C.vocab, C.dim, C.layers, C.part, C.eps>,
    arrange<gemma4_order<C>(),
            typename gemma4_layer<C, false, false>::type, typename gemma4_layer<C, true, false>::type,
            typename gemma4_layer<C, false, (C.shared_layers > 0)>::type, typename gemma4_layer<C, true, (C.shared_layers > 0)>::type>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>,
    softcap<C.vocab, C.logit_cap>> {
  using family = cke::family<"gemma4_text">;
  static constexpr gemma4_config config = C;
  static constexpr auto names = [] {
    if constexpr (C.experts > 0) return gemma4_expert_names;
    else return gemma4_names;
  }();
};

template <> struct family<"gemma4_text"> {
  using config = gemma4_config;
  template <config C> using type = gemma4<C>;
  static constexpr std::string_view name = "gemma4_text", gguf_name = "gemma4", header = "cke/models/gemma4.hpp",
                                    type_name = "cke::gemma4";
  static constexpr config_key keys[] = {
      key::vocab.or_default(), key::dim.or_default(), {"hidden", "intermediate_size", "feed_forward_length.first|feed_forward_length", true, 1, 1 << 22},
      key::layers.or_default(), key::heads.or_default(),
      {"kv_heads", "num_key_value_heads", "attention.head_count_kv.first|attention.head_count_kv", true, 1, 4096},
      {"head_dim", "head_dim", "attention.key_length_swa", true, 2, 1024},
      {"global_head_dim", "global_head_dim|per_layer_config.*.head_dim", "attention.key_length", true, 2, 1024},
      {"global_kv_heads", "num_global_key_value_heads|per_layer_config.*.num_key_value_heads", "attention.head_count_kv.last", true, 1, 4096},
      key::window, key::sliding,
      {"shared_layers", "num_kv_shared_layers", "attention.shared_kv_layers", true, 0, layer_set::most},
      {"double_wide", "use_double_wide_mlp", "feed_forward_length.varies", true, 0, 1},
      {"k_is_v", "attention_k_eq_v", "k_is_v", true, 0, 1},
      {"part", "hidden_size_per_layer_input", "embedding_length_per_layer_input", true, 0, 1 << 16, 0},
      {"experts", "num_experts", "expert_count", true, 0, 4096}, {"active", "top_k_experts", "expert_used_count", true, 0, 4096},
      {"expert_hidden", "moe_intermediate_size", "expert_feed_forward_length", true, 1, 1 << 22}, key::eps,
      {"logit_cap", "final_logit_softcapping", "final_logit_softcapping", true, 1e-3, 1e6, 0}, key::tied,
      {"rope", "full_attention", "rope.freq_base", true, 1e-3, 1}, key::local_rope};
  static constexpr requirement must_be[] = {{"hidden_activation", "gelu_pytorch_tanh"}, {"attention_bias", "false"},
                                            {"use_bidirectional_attention", "vision"}};  // of images; null: nowhere
  static constexpr config defaults{.vocab = 262144, .dim = 2304, .hidden = 9216, .layers = 30, .heads = 8, .kv_heads = 4};
  static constexpr config gguf_defaults{.vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0, .kv_heads = 1, .part = 0};

  static constexpr config finish(config c) {
    c.sliding = c.sliding.first(c.layers ? c.layers - 1 : 0);  // the last layer is always full
    c.global_kv_heads = gemma4_kv_heads(c);
    if (c.rope.dims == 0) c.rope.dims = 2 * (c.global_head_dim / 8);
    if (c.active == 0) c.experts = 0;
    return c;
  }

  static constexpr small_vector<layer_matrix, 9> matrices(const config& c, u32 layer) {
    const bool full = !c.sliding.has(layer), shared = layer + c.shared_layers >= c.layers;
    const u64 head_dim = full ? c.global_head_dim : c.head_dim, narrow = (full ? c.global_kv_heads : c.kv_heads) * head_dim;
    const u64 hidden = u64{c.hidden} * (shared && c.double_wide ? 2 : 1);
    small_vector<layer_matrix, 9> all;
    for (const layer_matrix& m : {layer_matrix{role::q, c.heads * head_dim}, {role::k, shared ? 0 : narrow},
                                  {role::v, shared || (full && c.k_is_v) ? 0 : narrow}, {role::gate, hidden}, {role::up, hidden},
                                  {role::layer_gate, c.part}, {role::router, c.experts},
                                  {role::gate_experts, c.experts ? c.expert_hidden : 0}, {role::up_experts, c.experts ? c.expert_hidden : 0}})
      if (m.rows) all.push(m);
    return all;
  }

  // What no row can say.
  static constexpr config_problem refuses(json root, naming as, const config& c) {
    const auto unsupported = [](std::string_view key, json found, std::string_view wanted) {
      return config_problem{trouble::unsupported, key, found.s, 0, 0, wanted};
    };
    bool own[2]{};
    for (u32 i = 0; i + c.shared_layers < c.layers; ++i) own[!c.sliding.has(i)] = true;
    for (u32 i = 0; i < c.layers; ++i)
      if (!own[!c.sliding.has(i)]) return unsupported("num_kv_shared_layers", {}, "a layer of each sort before those that share");
    if (c.global_head_dim % 2) return unsupported("global_head_dim", {}, "an even number");
    if (c.heads % c.global_kv_heads) return unsupported("num_global_key_value_heads", {}, "a divisor of num_attention_heads");
    if (c.experts && c.shared_layers) return unsupported("num_kv_shared_layers", {}, "0 beside experts");
    if (as == naming::gguf) return {};
    if (const json moe = root["enable_moe_block"]; moe.truth() != (c.experts > 0))
      return unsupported("enable_moe_block", moe, "true with num_experts, top_k_experts and moe_intermediate_size, else false");
    if (const json rows = root["vocab_size_per_layer_input"]; c.part && rows.present() && rows.number() != c.vocab)
      return unsupported("vocab_size_per_layer_input", rows, "vocab_size");
    const json own_config = root["per_layer_config"];  // as transformers 5 writes it: what full layers have of their own
    bool as_usual = true;
    own_config.find([&](std::string_view layer, json values) {
      u32 i = 0;
      for (const char digit : layer) i = i < layer_set::most ? 10 * i + static_cast<u32>(digit - '0') : i;
      as_usual = as_usual && i < c.layers && !c.sliding.has(i);
      values.find([&](std::string_view field, json value) {
        as_usual = as_usual && (field == "head_dim" ? value.number() == c.global_head_dim :
                                field == "num_key_value_heads" && value.number() == c.global_kv_heads);
        return false;
      });
      return false;
    });
    return as_usual ? config_problem{} : unsupported("per_layer_config", own_config, "one head_dim and one num_key_value_heads for all full layers");
  }
  // What differs from layer to layer is a list.
  static void to_gguf(const config& c, json, auto put) {
    if (c.double_wide) put("feed_forward_length", [&](u32 layer) { return layer + c.shared_layers < c.layers ? c.hidden : 2 * c.hidden; });
    else put("feed_forward_length", c.hidden);
    if (c.k_is_v) put("attention.head_count_kv", [&](u32 layer) { return c.sliding.has(layer) ? c.kv_heads : c.global_kv_heads; });
    else put("attention.head_count_kv", c.kv_heads);
    put("attention.value_length", c.global_head_dim);
    put("attention.value_length_swa", c.head_dim);
    put("attention.sliding_window_pattern", c.sliding);
    put("rope.dimension_count", c.global_head_dim);  // rope_freqs.weight says which part of it
    put("rope.dimension_count_swa", c.head_dim);
  }
  static constexpr auto names = gemma4_names;
  static constexpr std::span<const name_rule> names_of(const config& c) {
    if (c.experts) return gemma4_expert_names;
    return gemma4_names;
  }
};

struct Gemma_4_E2B : gemma4<gemma4_config{.vocab = 262144, .dim = 1536, .hidden = 6144, .layers = 35, .heads = 8, .kv_heads = 1, .sliding = layer_set::all_but_every(5), .shared_layers = 20, .double_wide = true, .logit_cap = 30}> {};
struct Gemma_4_E4B : gemma4<gemma4_config{.vocab = 262144, .dim = 2560, .hidden = 10240, .layers = 42, .heads = 8, .kv_heads = 2, .shared_layers = 18, .logit_cap = 30}> {};
struct Gemma_4_26B_A4B : gemma4<gemma4_config{.vocab = 262144, .dim = 2816, .hidden = 2112, .layers = 30, .heads = 16, .kv_heads = 8, .global_kv_heads = 2, .window = 1024, .k_is_v = true, .part = 0, .experts = 128, .active = 8, .expert_hidden = 704, .logit_cap = 30}> {};
struct Gemma_4_31B : gemma4<gemma4_config{.vocab = 262144, .dim = 5376, .hidden = 21504, .layers = 60, .heads = 32, .kv_heads = 16, .global_kv_heads = 4, .window = 1024, .k_is_v = true, .part = 0, .logit_cap = 30}> {};

}  // namespace cke

// SPDX-License-Identifier: MIT
// gemma4.hpp: how files spell Gemma 4's decoder.
#pragma once

#include <span>

#include "../family.hpp"
#include "../gemma4.hpp"

namespace cke {

// Norms are numbered in the order of the layer: those of the experts' branch come before that of the sum.
inline constexpr auto gemma4_common_names = common_names + expert_rules +
    std::array{header_name(role::layer_embed, "model.embed_tokens_per_layer", "per_layer_token_embd"),
               header_name(role::layer_project, "model.per_layer_model_projection", "per_layer_model_proj"),
               header_name(role::layer_project_norm, "model.per_layer_projection_norm", "per_layer_proj_norm"),
               layer_name(role::norm, 1, "model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm"),
               layer_name(role::norm, 2, "model.layers.{}.pre_feedforward_layernorm", "blk.{}.ffn_norm"),
               layer_name(role::layer_gate, "model.layers.{}.per_layer_input_gate", "blk.{}.inp_gate"),
               layer_name(role::layer_out, "model.layers.{}.per_layer_projection", "blk.{}.proj"),
               layer_name(role::layer_scalar, exact("model.layers.{}.layer_scalar"), "blk.{}.layer_output_scale"),
               layer_name(role::router, "model.layers.{}.router.proj", "blk.{}.ffn_gate_inp"),
               layer_name(role::router_norm, exact("model.layers.{}.router.scale"), exact("blk.{}.ffn_gate_inp.scale")),
               layer_name(role::expert_scale, exact("model.layers.{}.router.per_expert_scale"),
                          exact("blk.{}.ffn_down_exps.scale")),
               layer_name(role::gate_experts, part(0, exact("model.layers.{}.experts.gate_up_proj")),
                          part(0, "blk.{}.ffn_gate_up_exps")),
               layer_name(role::up_experts, part(1, exact("model.layers.{}.experts.gate_up_proj")),
                          part(1, "blk.{}.ffn_gate_up_exps")),
               layer_name(role::down_experts, exact("model.layers.{}.experts.down_proj"), "blk.{}.ffn_down_exps")};

inline constexpr auto gemma4_names = gemma4_common_names +
    std::array{layer_name(role::norm, 3, "model.layers.{}.post_feedforward_layernorm", "blk.{}.post_ffw_norm"),
               layer_name(role::norm, 4, "model.layers.{}.post_per_layer_input_norm", "blk.{}.post_norm")};

inline constexpr auto gemma4_expert_names = gemma4_common_names +
    std::array{layer_name(role::norm, 3, "model.layers.{}.post_feedforward_layernorm_1", "blk.{}.post_ffw_norm_1"),
               layer_name(role::norm, 4, "model.layers.{}.pre_feedforward_layernorm_2", "blk.{}.pre_ffw_norm_2"),
               layer_name(role::norm, 5, "model.layers.{}.post_feedforward_layernorm_2", "blk.{}.post_ffw_norm_2"),
               layer_name(role::norm, 6, "model.layers.{}.post_feedforward_layernorm", "blk.{}.post_ffw_norm"),
               layer_name(role::norm, 7, "model.layers.{}.post_per_layer_input_norm", "blk.{}.post_norm")};

inline constexpr layer_words gemma4_vision_words{.in = {"vision"}, .out = {}};

template <> struct family<"gemma4_text"> : usual_family<gemma4_config> {
  template <config C> using type = gemma4<C>;
  using presets = list<Gemma_4_E2B, Gemma_4_E4B, Gemma_4_26B_A4B, Gemma_4_31B>;
  static constexpr std::string_view name = "gemma4_text", gguf_name = "gemma4", type_name = "cke::gemma4";
  static constexpr config_key<config> keys[] = {
      key::vocab,
      key::dim,
      key::layers,
      key::heads,
      key::window,
      key::sliding,
      key::eps,
      key::logit_cap,
      key::tied,
      bind<&config::hidden>("intermediate_size", first_of("feed_forward_length")).range(1, 1 << 22),
      bind<&config::kv_heads>("num_key_value_heads", first_of("attention.head_count_kv")).range(1, 4096),
      bind<&config::head_dim>("head_dim", "attention.key_length_swa").range(2, 1024),
      bind<&config::global_head_dim>(either("global_head_dim", per_layer("head_dim")), "attention.key_length")
          .range(2, 1024),
      bind<&config::global_kv_heads>(either("num_global_key_value_heads", per_layer("num_key_value_heads")),
                                     last_of("attention.head_count_kv"))
          .range(1, 4096)
          .optional(),
      bind<&config::shared_layers>("num_kv_shared_layers", "attention.shared_kv_layers").range(0, layer_set::most),
      bind<&config::double_wide>("use_double_wide_mlp", varies("feed_forward_length")),
      bind<&config::k_is_v>("attention_k_eq_v", "k_is_v").shown(),
      bind<&config::part>("hidden_size_per_layer_input", "embedding_length_per_layer_input")
          .range(0, 1 << 16)
          .null_means(0),
      bind<&config::experts>("num_experts", "expert_count").range(0, 4096),
      bind<&config::active>("top_k_experts", "expert_used_count").range(0, 4096),
      key::expert_hidden.optional(),
      key::images,
      bind<&config::sees_image>("use_bidirectional_attention", "use_bidirectional_attention")
          .among(gemma4_vision_words)
          .only_if(&config::images)
          .shown(),
      bind<&config::pad>("pad_token_id").range(0, 1 << 24).null_means(0).only_if(&config::images),
      bind_rope<&config::rope, &config::global_head_dim>("rope.freq_base").of_layers("full_attention").or_a_part(),
      key::local_rope};
  static constexpr requirement must_be[] = {{"hidden_activation", "gelu_pytorch_tanh"}, {"attention_bias", "false"}};
  static constexpr config defaults{
      .vocab = 262144, .dim = 2304, .hidden = 9216, .layers = 30, .heads = 8, .kv_heads = 4};
  static constexpr config gguf_defaults{
      .vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0, .kv_heads = 1, .part = 0};

  static constexpr config finish(config c) {
    c.sliding = c.sliding.first(c.layers ? c.layers - 1 : 0);  // the last layer is always full
    c.global_kv_heads = gemma4_kv_heads(c);
    if (c.rope.dims == 0) c.rope.dims = 2 * (c.global_head_dim / 8);
    if (c.active == 0) c.experts = 0;
    if (!c.images) c.sees_image = false;
    if (!c.images || !c.part) c.pad = 0;
    return c;
  }
  // A layer that shares a cache reads one of a layer of its own kind.
  static constexpr bool sharers_have_a_source(const config& c) {
    bool own[2]{};
    for (u32 i = 0; i + c.shared_layers < c.layers; ++i) own[!c.sliding.has(i)] = true;
    for (u32 i = 0; i < c.layers; ++i)
      if (!own[!c.sliding.has(i)]) return false;
    return true;
  }
  static constexpr relation<config> relations[] = {
      {member_name<&config::shared_layers>(), sharers_have_a_source, "a layer of each sort before those that share"},
      {member_name<&config::shared_layers>(), [](const config& c) { return c.experts == 0 || c.shared_layers == 0; },
       "0 beside experts"},
      {member_name<&config::pad>(), [](const config& c) { return c.pad < c.vocab; }, "less than",
       member_name<&config::vocab>()},
      multiple_of<&config::heads, &config::kv_heads>,
      divisor_of<&config::global_kv_heads, &config::heads>,
      even<&config::head_dim>,
      even<&config::global_head_dim>,
      at_most<&config::active, &config::experts>};

  static constexpr layer_matrices matrices(const config& c, u32 layer) {
    const bool full = !c.sliding.has(layer), shared = layer + c.shared_layers >= c.layers;
    const u64 head_dim = full ? c.global_head_dim : c.head_dim,
              narrow = (full ? c.global_kv_heads : c.kv_heads) * head_dim;
    layer_matrices all;
    all.add(role::q, c.heads * head_dim)
        .add(role::k, shared ? 0 : narrow)
        .add(role::v, shared || (full && c.k_is_v) ? 0 : narrow);
    all.mlp(u64{c.hidden} * (shared && c.double_wide ? 2 : 1)).add(role::layer_gate, c.part);
    return c.experts ? all.experts(c.experts, c.expert_hidden) : all;
  }
  static constexpr model_shape shape(const config& c) {
    return {.heads = c.heads, .kv_heads = c.kv_heads, .experts = c.experts};
  }

  // Keys of config.json that no member is bound to.
  static constexpr config_problem refuses(json root, naming as, const config& c) {
    const auto unsupported = [](std::string_view key, json found, std::string_view wanted) {
      return config_problem{trouble::unsupported, key, found.s, 0, 0, wanted};
    };
    if (as == naming::gguf) return {};
    if (const json moe = root["enable_moe_block"]; (moe.present() && !moe.is_bool()) || moe.truth() != (c.experts > 0))
      return unsupported("enable_moe_block", moe,
                         "true with num_experts, top_k_experts and moe_intermediate_size, else false");
    // 262144 where it is absent, whatever the other table has
    if (const json rows = root["vocab_size_per_layer_input"];
        c.part && (rows.present() ? rows.number() : 262144) != c.vocab)
      return unsupported("vocab_size_per_layer_input", rows, "vocab_size");
    // transformers rotates whole heads then, whatever the key says
    if (c.rope.rule == rope_scaling::none && c.rope.dims != c.global_head_dim)
      return unsupported("partial_rotary_factor", root["rope_parameters"]["full_attention"]["partial_rotary_factor"],
                         "1 without a rope_type of proportional");
    const json own_config =
        root["per_layer_config"];  // as transformers 5 writes it: the values in which the full layers differ
    bool as_usual = true;
    own_config.find([&](std::string_view layer, json values) {
      u32 i = 0;
      for (const char digit : layer) i = i < layer_set::most ? 10 * i + static_cast<u32>(digit - '0') : i;
      as_usual = as_usual && i < c.layers && !c.sliding.has(i);
      values.find([&](std::string_view field, json value) {
        as_usual = as_usual &&
            (field == "head_dim" ? value.number() == c.global_head_dim
                                 : field == "num_key_value_heads" && value.number() == c.global_kv_heads);
        return false;
      });
      return false;
    });
    return as_usual
        ? config_problem{}
        : unsupported("per_layer_config", own_config, "one head_dim and one num_key_value_heads for all full layers");
  }
  // Values that differ from layer to layer are lists.
  static void to_gguf(const config& c, json, auto put) {
    if (c.double_wide)
      put("feed_forward_length",
          [&](u32 layer) { return layer + c.shared_layers < c.layers ? c.hidden : 2 * c.hidden; });
    else put("feed_forward_length", c.hidden);
    if (c.k_is_v)
      put("attention.head_count_kv", [&](u32 layer) { return c.sliding.has(layer) ? c.kv_heads : c.global_kv_heads; });
    else put("attention.head_count_kv", c.kv_heads);
    put("attention.value_length", c.global_head_dim);
    put("attention.value_length_swa", c.head_dim);
    put("attention.sliding_window_pattern", c.sliding);
    put("rope.dimension_count", c.global_head_dim);  // rope_freqs.weight says which part of it rotates
    put("rope.dimension_count_swa", c.head_dim);
  }
  static constexpr auto names = gemma4_names;
  static constexpr std::span<const name_rule> names_of(const config& c) {
    if (c.experts) return gemma4_expert_names;
    return gemma4_names;
  }
};

}  // namespace cke

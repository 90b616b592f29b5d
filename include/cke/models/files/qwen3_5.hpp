// SPDX-License-Identifier: MIT
// qwen3_5.hpp: how files spell Qwen3.5 (dense).
#pragma once

#include "../family.hpp"
#include "../image_keys.hpp"
#include "../qwen3_5.hpp"

namespace cke {

// Positions in time, height and width rotate parts of a head; in text all three are equal.
constexpr void qwen3_5_sections(json root, auto put) {
  std::array<u32, 4> sections{11, 11, 10, 0};
  u32 i = 0;
  const json now = root["rope_parameters"]["mrope_section"], before = root["rope_scaling"]["mrope_section"];
  (now.present() ? now : before).find([&](std::string_view, json size) {
    if (const double n = size.number(); n >= 0 && n <= 512) sections[i] = static_cast<u32>(n);
    return ++i == 3;
  });
  put("rope.dimension_sections", sections);
}

inline constexpr auto qwen3_5_names = expert_names + one_shared_expert_rules +
    std::array{
        footer_name(role::norm, "model.norm", "output_norm").in_gguf(change::plus_one),
        layer_name(role::norm, "model.layers.{}.input_layernorm", "blk.{}.attn_norm").in_gguf(change::plus_one),
        layer_name(role::norm, 1, "model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm")
            .in_gguf(change::plus_one),
        layer_name(role::q, head_part(0, "model.layers.{}.self_attn.q_proj"), head_part(0, "blk.{}.attn_q")),
        layer_name(role::q_gate, head_part(1, "model.layers.{}.self_attn.q_proj"), head_part(1, "blk.{}.attn_q")),
        layer_name(role::q_norm, "model.layers.{}.self_attn.q_norm", "blk.{}.attn_q_norm").in_gguf(change::plus_one),
        layer_name(role::k_norm, "model.layers.{}.self_attn.k_norm", "blk.{}.attn_k_norm").in_gguf(change::plus_one),
        layer_name(role::delta_q, part(0, "model.layers.{}.linear_attn.in_proj_qkv"), part(0, "blk.{}.attn_qkv")),
        layer_name(role::delta_k, part(1, "model.layers.{}.linear_attn.in_proj_qkv"), part(1, "blk.{}.attn_qkv")),
        layer_name(role::delta_v, part(2, "model.layers.{}.linear_attn.in_proj_qkv"), part(2, "blk.{}.attn_qkv")),
        layer_name(role::delta_gate, "model.layers.{}.linear_attn.in_proj_z", "blk.{}.attn_gate"),
        layer_name(role::alpha, "model.layers.{}.linear_attn.in_proj_a", "blk.{}.ssm_alpha"),
        layer_name(role::beta, "model.layers.{}.linear_attn.in_proj_b", "blk.{}.ssm_beta"),
        layer_name(role::conv, part(0, "model.layers.{}.linear_attn.conv1d"), part(0, "blk.{}.ssm_conv1d")),
        layer_name(role::conv, 1, part(1, "model.layers.{}.linear_attn.conv1d"), part(1, "blk.{}.ssm_conv1d")),
        layer_name(role::conv, 2, part(2, "model.layers.{}.linear_attn.conv1d"), part(2, "blk.{}.ssm_conv1d")),
        layer_name(role::decay, exact("model.layers.{}.linear_attn.A_log"), exact("blk.{}.ssm_a"))
            .in_gguf(change::minus_exp),
        layer_name(role::step_bias, exact("model.layers.{}.linear_attn.dt_bias"), exact("blk.{}.ssm_dt.bias")),
        layer_name(role::delta_norm, "model.layers.{}.linear_attn.norm", "blk.{}.ssm_norm"),
        layer_name(role::delta_out, "model.layers.{}.linear_attn.out_proj", "blk.{}.ssm_out")};

inline constexpr layer_words qwen3_5_linear{.in = {"linear_attention"}, .out = {"full_attention"}};

// The families with experts use these too.
template <class C> struct qwen3_5_keys : shared_keys<C>, optional_image_keys<C> {
  using key = config_key<C>;
  static constexpr key key_heads = bind<&C::key_heads>("linear_num_key_heads", "ssm.group_count").range(1, 4096);
  static constexpr key value_heads =
      bind<&C::value_heads>("linear_num_value_heads", "ssm.time_step_rank").range(1, 4096);
  static constexpr key key_dim = bind<&C::key_dim>("linear_key_head_dim", "ssm.state_size").range(1, 4096);
  static constexpr key value_dim = bind<&C::value_dim>("linear_value_head_dim", "ssm.head_dim").range(1, 4096).shown();
  static constexpr key taps = bind<&C::taps>("linear_conv_kernel_dim", "ssm.conv_kernel").range(1, 64);
  static constexpr key tiled = bind<&C::tiled>();
  static constexpr key linear = bind<&C::linear>(either("layer_types", "full_attention_interval"),
                                                 either("attention.recurrent_layers", "full_attention_interval"))
                                    .among(qwen3_5_linear);
};
template <class C> struct qwen3_5_shared : usual_family<C> {
  using key = qwen3_5_keys<C>;
  static constexpr bool predicts_ahead = true;  // files have layers after the last, for speculative decoding
  static constexpr C finish(C c) {
    c.linear = c.linear.first(c.layers);
    c.rope.dims = c.rope.dims ? c.rope.dims : c.head_dim / 4;
    c.tiled = c.tiled && c.key_heads != c.value_heads;
    return c;
  }
  static constexpr std::array<relation<C>, 4> relations{multiple_of<&C::heads, &C::kv_heads>, even<&C::head_dim>,
                                                        multiple_of<&C::value_heads, &C::key_heads>,
                                                        image_keys<C>::sections_cover};
  static constexpr layer_matrices mixer(const C& c, u32 layer) {
    const u64 keys = u64{c.key_heads} * c.key_dim, values = u64{c.value_heads} * c.value_dim;
    layer_matrices all;
    if (!c.linear.has(layer)) return all.attention(c).add(role::q_gate, u64{c.heads} * c.head_dim);
    all.add(role::delta_q, keys).add(role::delta_k, keys).add(role::delta_v, values).add(role::delta_gate, values);
    return all.add(role::alpha, c.value_heads).add(role::beta, c.value_heads);
  }
  static constexpr layer_matrices matrices(const C& c, u32 layer) { return mixer(c, layer).mlp(c.hidden); }
  static constexpr model_shape shape(const C& c) {
    return {.heads = c.heads,
            .kv_heads = c.kv_heads,
            .key_heads = c.key_heads,
            .value_heads = c.value_heads,
            .tiled_in_gguf = c.key_heads != c.value_heads};
  }
  static void to_gguf(const C& c, json, auto put) {
    put("ssm.inner_size", c.value_heads * c.value_dim);
    put("attention.recurrent_layers", c.linear);
  }
};

template <> struct family<"qwen3_5_text"> : qwen3_5_shared<qwen3_5_config> {
  template <config C> using type = qwen3_5<C>;
  using presets = list<Qwen3_5_0_8B>;
  static constexpr std::string_view name = "qwen3_5_text", gguf_name = "qwen35", type_name = "cke::qwen3_5";
  static constexpr config_key<config> keys[] = {key::vocab,
                                                key::dim,
                                                key::hidden,
                                                key::layers,
                                                key::heads,
                                                key::kv_heads,
                                                key::head_dim,
                                                key::key_heads,
                                                key::value_heads,
                                                key::key_dim,
                                                key::value_dim,
                                                key::taps,
                                                key::tiled,
                                                key::linear,
                                                key::eps,
                                                key::tied,
                                                key::rope.or_a_part(),
                                                key::images,
                                                key::section_t,
                                                key::section_h,
                                                key::section_w};
  static constexpr requirement must_be[] = {
      {"hidden_act", "silu"}, {"attention_bias", "false"}, {"attn_output_gate", "true"}};
  static constexpr config defaults{.vocab = 248320,
                                   .dim = 4096,
                                   .hidden = 12288,
                                   .layers = 32,
                                   .heads = 16,
                                   .kv_heads = 4,
                                   .value_heads = 32,
                                   .rope = {.theta = 1e4}};
  static constexpr config gguf_defaults{
      .vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0, .kv_heads = 1, .tiled = true};
  static void to_gguf(const config& c, json root, auto put) {
    qwen3_5_shared::to_gguf(c, root, put), qwen3_5_sections(root, put);
  }
  static constexpr auto names = qwen3_5_names;
};

}  // namespace cke

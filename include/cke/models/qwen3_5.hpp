// SPDX-License-Identifier: MIT
// qwen3_5.hpp: Qwen3.5 (dense, text): three gated delta nets, then a layer that attends and gates what it found.
#pragma once

#include "family.hpp"

namespace cke {

struct qwen3_5_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads, head_dim = 256;
  u32 key_heads = 16, value_heads = 16, key_dim = 128, value_dim = 128, taps = 4;  // of linear attention
  bool tiled{};  // GGUF files keep its value heads in another order
  layer_set linear = layer_set::all_but_every(4);
  real eps = 1e-6;
  bool tied{};
  rotary rope{.theta = 1e7};  // dims 0: a quarter of head_dim
};

// Of a mixture of experts too, and of Qwen3-Next.
constexpr attention_options qwen3_5_attend(const auto& c) {
  rotary rope = c.rope;
  rope.dims = rope.dims ? rope.dims : c.head_dim / 4;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = c.head_dim, .rope = rope, .qk_norm = {c.eps, 1}, .gate = true};
}
constexpr delta_net_options qwen3_5_delta(const auto& c) {
  return {.dim = c.dim, .key_heads = c.key_heads, .value_heads = c.value_heads, .key_dim = c.key_dim, .value_dim = c.value_dim,
          .taps = c.taps, .eps = c.eps, .tiled = c.tiled};
}
template <auto C, class Mixer, class Mlp> using qwen3_5_layer = block<
    residual<rms_norm<C.dim, C.eps, 1>, Mixer>,
    residual<rms_norm<C.dim, C.eps, 1>, Mlp>>;

template <auto C, class Mlp> using qwen3_5_list = network<
    embedding<C.vocab, C.dim>,
    arrange<order_of<C.layers>(C.linear),
        qwen3_5_layer<C, attention<qwen3_5_attend(C)>, Mlp>, qwen3_5_layer<C, gated_delta_net<qwen3_5_delta(C)>, Mlp>>,
    rms_norm<C.dim, C.eps, 1>,
    head<C.dim, C.vocab, C.tied>>;

template <qwen3_5_config C> struct qwen3_5 : qwen3_5_list<C, gated_mlp<C.dim, C.hidden, activation::silu>> {
  using family = cke::family<"qwen3_5_text">;
  static constexpr qwen3_5_config config = C;
};

constexpr auto qwen3_5_finished(auto c) {
  c.linear = c.linear.first(c.layers);
  c.rope.dims = c.rope.dims ? c.rope.dims : c.head_dim / 4;
  c.tiled = c.tiled && c.key_heads != c.value_heads;
  return c;
}

constexpr small_vector<layer_matrix, 12> qwen3_5_matrices(const auto& c, u32 layer) {
  small_vector<layer_matrix, 12> all;
  const u64 keys = u64{c.key_heads} * c.key_dim, values = u64{c.value_heads} * c.value_dim, wide = u64{c.heads} * c.head_dim;
  const u64 narrow = u64{c.kv_heads} * c.head_dim;
  const auto put = [&](std::initializer_list<layer_matrix> some) { for (const layer_matrix& m : some) all.push(m); };
  if (c.linear.has(layer))
    put({{role::delta_q, keys}, {role::delta_k, keys}, {role::delta_v, values}, {role::delta_gate, values}, {role::alpha, c.value_heads}, {role::beta, c.value_heads}});
  else put({{role::q, wide}, {role::q_gate, wide}, {role::k, narrow}, {role::v, narrow}});
  if constexpr (requires { c.experts; })
    put({{role::router, c.experts}, {role::gate_experts, c.expert_hidden}, {role::up_experts, c.expert_hidden}, {role::gate_shared, c.shared_hidden}, {role::up_shared, c.shared_hidden}});
  else put({{role::gate, c.hidden}, {role::up, c.hidden}});
  return all;
}

constexpr void qwen3_5_to_gguf(const auto& c, auto put) {
  put("ssm.inner_size", c.value_heads * c.value_dim);
  put("attention.recurrent_layers", c.linear);
}
// Positions in time, height and width turn parts of a head; in text they are one.
constexpr void qwen3_5_sections(json root, auto put) {
  std::array<u32, 4> sections{11, 11, 10, 0};
  u32 i = 0;
  root.path("rope_parameters.mrope_section|rope_scaling.mrope_section").find([&](std::string_view, json size) {
    if (const double n = size.number(); n >= 0 && n <= 512) sections[i] = static_cast<u32>(n);
    return ++i == 3;
  });
  put("rope.dimension_sections", sections);
}

inline constexpr auto qwen3_5_names = expert_names + std::array{
    name_rule{place::footer, role::norm, 0, "model.norm", "output_norm", change::plus_one},
    name_rule{place::body, role::norm, 0, "model.layers.{}.input_layernorm", "blk.{}.attn_norm", change::plus_one},
    name_rule{place::body, role::norm, 1, "model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm", change::plus_one},
    name_rule{place::body, role::q, 0, "model.layers.{}.self_attn.q_proj<0>", "blk.{}.attn_q<0>"},
    name_rule{place::body, role::q_gate, 0, "model.layers.{}.self_attn.q_proj<1>", "blk.{}.attn_q<1>"},
    name_rule{place::body, role::q_norm, 0, "model.layers.{}.self_attn.q_norm", "blk.{}.attn_q_norm", change::plus_one},
    name_rule{place::body, role::k_norm, 0, "model.layers.{}.self_attn.k_norm", "blk.{}.attn_k_norm", change::plus_one},
    name_rule{place::body, role::delta_q, 0, "model.layers.{}.linear_attn.in_proj_qkv[0]", "blk.{}.attn_qkv[0]"},
    name_rule{place::body, role::delta_k, 0, "model.layers.{}.linear_attn.in_proj_qkv[1]", "blk.{}.attn_qkv[1]"},
    name_rule{place::body, role::delta_v, 0, "model.layers.{}.linear_attn.in_proj_qkv[2]", "blk.{}.attn_qkv[2]"},
    name_rule{place::body, role::delta_gate, 0, "model.layers.{}.linear_attn.in_proj_z", "blk.{}.attn_gate"},
    name_rule{place::body, role::alpha, 0, "model.layers.{}.linear_attn.in_proj_a", "blk.{}.ssm_alpha"},
    name_rule{place::body, role::beta, 0, "model.layers.{}.linear_attn.in_proj_b", "blk.{}.ssm_beta"},
    name_rule{place::body, role::conv, 0, "model.layers.{}.linear_attn.conv1d[0]", "blk.{}.ssm_conv1d[0]"},
    name_rule{place::body, role::conv, 1, "model.layers.{}.linear_attn.conv1d[1]", "blk.{}.ssm_conv1d[1]"},
    name_rule{place::body, role::conv, 2, "model.layers.{}.linear_attn.conv1d[2]", "blk.{}.ssm_conv1d[2]"},
    name_rule{place::body, role::decay, 0, "=model.layers.{}.linear_attn.A_log", "=blk.{}.ssm_a", change::minus_exp},
    name_rule{place::body, role::step_bias, 0, "=model.layers.{}.linear_attn.dt_bias", "=blk.{}.ssm_dt.bias"},
    name_rule{place::body, role::delta_norm, 0, "model.layers.{}.linear_attn.norm", "blk.{}.ssm_norm"},
    name_rule{place::body, role::delta_out, 0, "model.layers.{}.linear_attn.out_proj", "blk.{}.ssm_out"}};

namespace key {
inline constexpr config_key key_heads{"key_heads", "linear_num_key_heads", "ssm.group_count", true, 1, 4096},
    value_heads{"value_heads", "linear_num_value_heads", "ssm.time_step_rank", true, 1, 4096},
    key_dim{"key_dim", "linear_key_head_dim", "ssm.state_size", true, 1, 4096},
    value_dim{"value_dim", "linear_value_head_dim", "ssm.state_size", true, 1, 4096},
    delta_taps{"taps", "linear_conv_kernel_dim", "ssm.conv_kernel", true, 1, 64},
    tiled{"tiled", "tiled_heads", "tiled_heads", true, 0, 1},
    linear{"linear", "layer_types|full_attention_interval", "attention.recurrent_layers|full_attention_interval", true, 1, layer_set::most, -1, "full_attention or linear_attention"};
}  // namespace key

template <> struct family<"qwen3_5_text"> {
  using config = qwen3_5_config;
  template <config C> using type = qwen3_5<C>;
  static constexpr std::string_view name = "qwen3_5_text", gguf_name = "qwen35", header = "cke/models/qwen3_5.hpp", type_name = "cke::qwen3_5";
  static constexpr bool predicts_ahead = true;  // files have layers after the last, for speculation
  static constexpr config_key keys[] = {
      key::vocab.or_default(), key::dim.or_default(), key::hidden.or_default(), key::layers.or_default(), key::heads.or_default(), key::kv_heads,
      key::head_dim, key::key_heads, key::value_heads, key::key_dim, key::value_dim, key::delta_taps, key::tiled, key::linear, key::eps, key::tied,
      key::partial_rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}, {"attention_bias", "false"}, {"attn_output_gate", "true"}};
  static constexpr config defaults{.vocab = 248320, .dim = 4096, .hidden = 12288, .layers = 32, .heads = 16, .kv_heads = 4, .value_heads = 32};
  static constexpr config gguf_defaults{.vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0, .kv_heads = 1, .tiled = true};
  static constexpr config finish(config c) { return qwen3_5_finished(c); }
  static constexpr auto matrices(const config& c, u32 layer) { return qwen3_5_matrices(c, layer); }
  static void to_gguf(const config& c, json root, auto put) { qwen3_5_to_gguf(c, put), qwen3_5_sections(root, put); }
  static constexpr auto names = qwen3_5_names;
};

struct Qwen3_5_0_8B : qwen3_5<qwen3_5_config{.vocab = 248320, .dim = 1024, .hidden = 3584, .layers = 24, .heads = 8, .kv_heads = 2, .tied = true}> {};

}  // namespace cke

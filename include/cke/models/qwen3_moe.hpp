// SPDX-License-Identifier: MIT
// qwen3_moe.hpp: Qwen3 with experts: every mlp is a softmax-routed mixture of them.
#pragma once

#include "qwen3.hpp"

namespace cke {

struct qwen3_moe_config {
  u32 vocab, dim, expert_hidden, layers, heads, kv_heads, head_dim = 128, experts = 128, active = 8;
  bool renormalise = true;
  real eps = 1e-6;
  bool tied{}, attention_bias{};
  rotary rope{.theta = 1e6};
};

template <qwen3_moe_config C> struct qwen3_moe : network<
    embedding<C.vocab, C.dim>,
    stack<C.layers, block<
        residual<rms_norm<C.dim, C.eps>, attention<qwen3_attend(C)>>,
        residual<rms_norm<C.dim, C.eps>, moe<moe_options{.dim = C.dim, .hidden = C.expert_hidden, .route = {
            .experts = C.experts, .active = C.active, .renormalise = C.renormalise}}>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"qwen3_moe">;
  static constexpr qwen3_moe_config config = C;
};

template <> struct family<"qwen3_moe"> {
  using config = qwen3_moe_config;
  template <config C> using type = qwen3_moe<C>;
  static constexpr std::string_view name = "qwen3_moe", gguf_name = "qwen3moe", header = "cke/models/qwen3_moe.hpp",
                                    type_name = "cke::qwen3_moe";
  static constexpr config_key keys[] = {
      key::vocab, key::dim, key::expert_hidden, key::layers, key::heads, key::kv_heads, key::head_dim, key::experts, key::active,
      key::renormalise, key::eps, key::tied, key::attention_bias, key::rope};
  static constexpr requirement must_be[] = {
      {"hidden_act", "silu"}, {"use_sliding_window", "false"}, {"decoder_sparse_step", "1"}, {"mlp_only_layers", "[]"}};
  static constexpr config defaults{.vocab = 0, .dim = 0, .expert_hidden = 0, .layers = 0, .heads = 0, .kv_heads = 0, .head_dim = 0,
                                   .experts = 0, .active = 0, .renormalise = false, .rope = {.theta = 1e4}};
  static constexpr config gguf_defaults{.vocab = 0, .dim = 0, .expert_hidden = 0, .layers = 0, .heads = 0, .kv_heads = 0,
                                        .head_dim = 0, .experts = 0, .active = 0};
  static constexpr config finish(config c) {
    c.kv_heads = c.kv_heads ? c.kv_heads : c.heads;
    c.head_dim = c.head_dim || c.heads == 0 ? c.head_dim : c.dim / c.heads;
    return c;
  }
  static constexpr auto names = expert_names;
};

struct Qwen3_30B_A3B : qwen3_moe<qwen3_moe_config{.vocab = 151936, .dim = 2048, .expert_hidden = 768, .layers = 48, .heads = 32, .kv_heads = 4}> {};
struct Qwen3_235B_A22B : qwen3_moe<qwen3_moe_config{.vocab = 151936, .dim = 4096, .expert_hidden = 1536, .layers = 94, .heads = 64, .kv_heads = 4}> {};

}  // namespace cke

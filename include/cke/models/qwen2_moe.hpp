// SPDX-License-Identifier: MIT
// qwen2_moe.hpp: Qwen2 with experts, one of them shared and gated.
#pragma once

#include "family.hpp"

namespace cke {

struct qwen2_moe_config {
  u32 vocab, dim, expert_hidden, shared_hidden, layers, heads, kv_heads, head_dim{}, experts = 60, active = 4;  // head_dim 0: dim / heads
  bool renormalise{};
  real eps = 1e-6;
  bool tied{}, attention_bias = true;
  rotary rope{.theta = 1e6};
};

constexpr attention_options qwen2_moe_attend(const qwen2_moe_config& c) {
  const u32 head_dim = c.head_dim ? c.head_dim : c.dim / c.heads;
  rotary rope = c.rope;
  rope.dims = head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = head_dim, .rope = rope, .qkv_bias = c.attention_bias};
}

template <qwen2_moe_config C> struct qwen2_moe : network<
    embedding<C.vocab, C.dim>,
    stack<C.layers, block<
        residual<rms_norm<C.dim, C.eps>, attention<qwen2_moe_attend(C)>>,
        residual<rms_norm<C.dim, C.eps>, moe<moe_options{
            .dim = C.dim, .hidden = C.expert_hidden,
            .route = {.experts = C.experts, .active = C.active, .renormalise = C.renormalise},
            .shared = C.shared_hidden, .shared_gate = true}>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"qwen2_moe">;
  static constexpr qwen2_moe_config config = C;
};

template <> struct family<"qwen2_moe"> {
  using config = qwen2_moe_config;
  template <config C> using type = qwen2_moe<C>;
  static constexpr std::string_view name = "qwen2_moe", gguf_name = "qwen2moe", header = "cke/models/qwen2_moe.hpp",
                                    type_name = "cke::qwen2_moe";
  static constexpr config_key keys[] = {
      key::vocab, key::dim, key::expert_hidden,
      {"shared_hidden", "shared_expert_intermediate_size", "expert_shared_feed_forward_length", false, 1, 1 << 22},
      key::layers, key::heads, key::kv_heads, key::head_dim, key::experts, key::active, key::renormalise, key::eps, key::tied,
      {"attention_bias", "qkv_bias", "attention_bias", true, 0, 1}, key::rope};
  static constexpr requirement must_be[] = {
      {"hidden_act", "silu"}, {"use_sliding_window", "false"}, {"decoder_sparse_step", "1"}, {"mlp_only_layers", "[]"}};
  static constexpr config defaults{.vocab = 0, .dim = 0, .expert_hidden = 0, .shared_hidden = 0, .layers = 0, .heads = 0,
                                   .kv_heads = 0, .experts = 0, .active = 0, .rope = {.theta = 1e4}};
  static constexpr config finish(config c) {
    c.kv_heads = c.kv_heads ? c.kv_heads : c.heads;
    c.head_dim = c.head_dim || c.heads == 0 ? c.head_dim : c.dim / c.heads;
    return c;
  }
  static constexpr auto names = expert_names;
};

struct Qwen1_5_MoE_A2_7B : qwen2_moe<qwen2_moe_config{.vocab = 151936, .dim = 2048, .expert_hidden = 1408, .shared_hidden = 5632, .layers = 24, .heads = 16, .kv_heads = 16}> {};
struct Qwen2_57B_A14B : qwen2_moe<qwen2_moe_config{.vocab = 151936, .dim = 3584, .expert_hidden = 2560, .shared_hidden = 20480, .layers = 28, .heads = 28, .kv_heads = 4, .experts = 64, .active = 8}> {};

}  // namespace cke

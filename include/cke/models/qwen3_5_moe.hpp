// SPDX-License-Identifier: MIT
// qwen3_5_moe.hpp: Qwen3.5 with experts (text): the same mixers, and one expert that every token chooses.
#pragma once

#include "qwen3_5.hpp"

namespace cke {

// Of Qwen3-Next too.
struct qwen3_5_moe_config {
  u32 vocab, dim, expert_hidden, shared_hidden, layers, heads, kv_heads, head_dim = 256;
  u32 key_heads = 16, value_heads = 32, key_dim = 128, value_dim = 128, taps = 4;
  bool tiled{};
  layer_set linear = layer_set::all_but_every(4);
  u32 experts = 256, active = 8;
  bool renormalise = true;
  real eps = 1e-6;
  bool tied{};
  rotary rope{.theta = 1e7};
};

template <qwen3_5_moe_config C> using qwen3_5_experts = moe<moe_options{
    .dim = C.dim, .hidden = C.expert_hidden, .route = {.experts = C.experts, .active = C.active, .renormalise = C.renormalise},
    .shared = C.shared_hidden, .shared_gate = true}>;

template <qwen3_5_moe_config C> struct qwen3_5_moe : qwen3_5_list<C, qwen3_5_experts<C>> {
  using family = cke::family<"qwen3_5_moe_text">;
  static constexpr qwen3_5_moe_config config = C;
};

namespace key {
inline constexpr config_key shared_hidden{"shared_hidden", "shared_expert_intermediate_size", "expert_shared_feed_forward_length", true, 1, 1 << 22};
}  // namespace key

// What both families say of themselves; only one can be told not to renormalise.
struct qwen3_5_moe_family {
  using config = qwen3_5_moe_config;
  static constexpr bool predicts_ahead = true;
  static constexpr auto keys_with(const config_key& renormalise) {
    return std::array{
        key::vocab.or_default(), key::dim.or_default(), key::expert_hidden.or_default(), key::shared_hidden, key::layers.or_default(),
        key::heads.or_default(), key::kv_heads, key::head_dim, key::key_heads, key::value_heads, key::key_dim, key::value_dim, key::delta_taps,
        key::tiled, key::linear, key::experts.or_default(), key::active.or_default(), renormalise, key::eps, key::tied, key::partial_rope};
  }
  static constexpr config finish(config c) { return qwen3_5_finished(c); }
  static constexpr auto matrices(const config& c, u32 layer) { return qwen3_5_matrices(c, layer); }
};

template <> struct family<"qwen3_5_moe_text"> : qwen3_5_moe_family {
  template <config C> using type = qwen3_5_moe<C>;
  static constexpr std::string_view name = "qwen3_5_moe_text", gguf_name = "qwen35moe", header = "cke/models/qwen3_5_moe.hpp",
                                    type_name = "cke::qwen3_5_moe";
  static constexpr auto keys = keys_with({"renormalise", "", "", true, 0, 1});
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}, {"attention_bias", "false"}, {"attn_output_gate", "true"}};
  static constexpr config defaults{.vocab = 248320, .dim = 2048, .expert_hidden = 512, .shared_hidden = 512, .layers = 40, .heads = 16, .kv_heads = 2};
  static constexpr config gguf_defaults{.vocab = 0, .dim = 0, .expert_hidden = 0, .shared_hidden = 0, .layers = 0, .heads = 0, .kv_heads = 1,
                                        .tiled = true, .experts = 0, .active = 0};
  static void to_gguf(const config& c, json root, auto put) { qwen3_5_to_gguf(c, put), qwen3_5_sections(root, put); }
  static constexpr auto names = qwen3_5_names;
};

struct Qwen3_5_35B_A3B : qwen3_5_moe<qwen3_5_moe_config{.vocab = 248320, .dim = 2048, .expert_hidden = 512, .shared_hidden = 512, .layers = 40, .heads = 16, .kv_heads = 2}> {};

}  // namespace cke

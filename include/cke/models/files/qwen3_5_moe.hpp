// SPDX-License-Identifier: MIT
// qwen3_5_moe.hpp: how files spell Qwen3.5 with experts.
#pragma once

#include "../family.hpp"
#include "../qwen3_5_moe.hpp"

namespace cke {

// The common part of both families; only one has a key that turns renormalisation off.
struct qwen3_5_moe_shared : qwen3_5_shared<qwen3_5_moe_config> {
  using config = qwen3_5_moe_config;
  using key = qwen3_5_keys<config>;
  static constexpr auto keys_with(const config_key<config>& renormalise) {
    return std::array{
        key::vocab,    key::dim,      key::expert_hidden,    key::shared_hidden, key::layers,    key::heads,
        key::kv_heads, key::head_dim, key::key_heads,        key::value_heads,   key::key_dim,   key::value_dim,
        key::taps,     key::tiled,    key::linear,           key::experts,       key::active,    renormalise,
        key::eps,      key::tied,     key::rope.or_a_part(), key::images,        key::section_t, key::section_h,
        key::section_w};
  }
  static constexpr auto relations = qwen3_5_shared::relations + std::array{at_most<&config::active, &config::experts>};
  static constexpr layer_matrices matrices(const config& c, u32 layer) {
    return mixer(c, layer).experts(c.experts, c.expert_hidden).shared_expert(c.shared_hidden);
  }
  static constexpr model_shape shape(const config& c) {
    model_shape s = qwen3_5_shared::shape(c);
    s.experts = c.experts;
    return s;
  }
};

template <> struct family<"qwen3_5_moe_text"> : qwen3_5_moe_shared {
  template <config C> using type = qwen3_5_moe<C>;
  using presets = list<Qwen3_5_35B_A3B>;
  static constexpr std::string_view name = "qwen3_5_moe_text", gguf_name = "qwen35moe", type_name = "cke::qwen3_5_moe";
  static constexpr auto keys = keys_with(bind<&config::renormalise>());
  static constexpr requirement must_be[] = {
      {"hidden_act", "silu"}, {"attention_bias", "false"}, {"attn_output_gate", "true"}};
  static constexpr config defaults{.vocab = 248320,
                                   .dim = 2048,
                                   .expert_hidden = 512,
                                   .shared_hidden = 512,
                                   .layers = 40,
                                   .heads = 16,
                                   .kv_heads = 2,
                                   .rope = {.theta = 1e4}};
  static constexpr config gguf_defaults{.vocab = 0,
                                        .dim = 0,
                                        .expert_hidden = 0,
                                        .shared_hidden = 0,
                                        .layers = 0,
                                        .heads = 0,
                                        .kv_heads = 1,
                                        .tiled = true,
                                        .experts = 0,
                                        .active = 0};
  static void to_gguf(const config& c, json root, auto put) {
    qwen3_5_shared::to_gguf(c, root, put), qwen3_5_sections(root, put);
  }
  static constexpr auto names = qwen3_5_names;
};

}  // namespace cke

// SPDX-License-Identifier: MIT
// phi3.hpp: how files spell Phi-3 and Phi-4.
#pragma once

#include "../family.hpp"
#include "../phi3.hpp"

namespace cke {

template <> struct family<"phi3"> : usual_family<phi3_config> {
  template <config C> using type = phi3<C>;
  using presets = list<Phi_3_mini_4k, Phi_4>;
  static constexpr std::string_view name = "phi3", type_name = "cke::phi3";
  static constexpr config_key<config> keys[] = {key::vocab, key::dim,      key::hidden,          key::layers,
                                                key::heads, key::kv_heads, key::head_dim,        key::window,
                                                key::eps,   key::tied,     key::rope.or_a_part()};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}, {"attention_bias", "false"}};
  static constexpr config defaults{.vocab = 0,
                                   .dim = 0,
                                   .hidden = 0,
                                   .layers = 0,
                                   .heads = 0,
                                   .kv_heads = 0,
                                   .rope = {.theta = 1e4, .original = 4096}};
  static constexpr config gguf_defaults{.vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0, .kv_heads = 0};
  // transformers takes yarn for longrope there, and refuses the others.
  static constexpr config_problem refuses(json root, naming as, const config& c) {
    if (as == naming::gguf || c.rope.rule == rope_scaling::none || c.rope.rule == rope_scaling::longrope) return {};
    const json old = root["rope_scaling"], rope = old.size() ? old : root["rope_parameters"];
    const std::string_view key = rope["rope_type"].present() ? "rope_type" : "type";
    return {trouble::unsupported, key, rope[key].s, 0, 0, "default or longrope"};
  }
  static constexpr auto names = common_names +
      std::array{layer_name(role::q, part(0, "model.layers.{}.self_attn.qkv_proj"), part(0, "blk.{}.attn_qkv")),
                 layer_name(role::k, part(1, "model.layers.{}.self_attn.qkv_proj"), part(1, "blk.{}.attn_qkv")),
                 layer_name(role::v, part(2, "model.layers.{}.self_attn.qkv_proj"), part(2, "blk.{}.attn_qkv")),
                 layer_name(role::gate, part(0, "model.layers.{}.mlp.gate_up_proj"), part(0, "blk.{}.ffn_up")),
                 layer_name(role::up, part(1, "model.layers.{}.mlp.gate_up_proj"), part(1, "blk.{}.ffn_up"))};
};

}  // namespace cke

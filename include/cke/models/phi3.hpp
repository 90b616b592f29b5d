// SPDX-License-Identifier: MIT
// phi3.hpp: Phi-3 and Phi-4: llama in fused matrices, with longrope, a window, and only a part of a head turned in some.
#pragma once

#include "family.hpp"

namespace cke {

struct phi3_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads, head_dim{}, window = everything;  // head_dim 0: dim / heads
  real eps = 1e-5;
  bool tied{};
  rotary rope{.theta = 1e4};
};

constexpr attention_options phi3_attend(const phi3_config& c) {
  const u32 head_dim = c.head_dim ? c.head_dim : c.dim / c.heads;
  rotary rope = c.rope;
  rope.dims = rope.dims ? rope.dims : head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = head_dim, .rope = rope, .window = c.window};
}

template <phi3_config C> struct phi3 : network<
    embedding<C.vocab, C.dim>,
    stack<C.layers, block<
        residual<rms_norm<C.dim, C.eps>, attention<phi3_attend(C)>>,
        residual<rms_norm<C.dim, C.eps>, gated_mlp<C.dim, C.hidden, activation::silu>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"phi3">;
  static constexpr phi3_config config = C;
};

template <> struct family<"phi3"> {
  using config = phi3_config;
  template <config C> using type = phi3<C>;
  static constexpr std::string_view name = "phi3", header = "cke/models/phi3.hpp", type_name = "cke::phi3";
  static constexpr config_key keys[] = {
      key::vocab, key::dim, key::hidden, key::layers, key::heads, key::kv_heads, key::head_dim, key::window, key::eps, key::tied,
      key::partial_rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}, {"attention_bias", "false"}};
  static constexpr config defaults{.vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0, .kv_heads = 0};
  static constexpr config finish(config c) {
    c.kv_heads = c.kv_heads ? c.kv_heads : c.heads;
    c.head_dim = c.head_dim || c.heads == 0 ? c.head_dim : c.dim / c.heads;
    return c;
  }
  static constexpr auto names = common_names + std::array{
      name_rule{place::body, role::q, 0, "model.layers.{}.self_attn.qkv_proj[0]", "blk.{}.attn_qkv[0]"},
      name_rule{place::body, role::k, 0, "model.layers.{}.self_attn.qkv_proj[1]", "blk.{}.attn_qkv[1]"},
      name_rule{place::body, role::v, 0, "model.layers.{}.self_attn.qkv_proj[2]", "blk.{}.attn_qkv[2]"},
      name_rule{place::body, role::gate, 0, "model.layers.{}.mlp.gate_up_proj[0]", "blk.{}.ffn_up[0]"},
      name_rule{place::body, role::up, 0, "model.layers.{}.mlp.gate_up_proj[1]", "blk.{}.ffn_up[1]"}};
};

struct Phi_3_mini_4k : phi3<phi3_config{.vocab = 32064, .dim = 3072, .hidden = 8192, .layers = 32, .heads = 32, .kv_heads = 32, .window = 2047}> {};
struct Phi_4 : phi3<phi3_config{.vocab = 100352, .dim = 5120, .hidden = 17920, .layers = 40, .heads = 40, .kv_heads = 10, .rope = {.theta = 2.5e5}}> {};

}  // namespace cke

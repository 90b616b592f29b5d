// SPDX-License-Identifier: MIT
// mixtral.hpp: Mixtral: llama whose every mlp is eight experts, two for each token.
#pragma once

#include "family.hpp"

namespace cke {

struct mixtral_config {
  u32 vocab, dim, expert_hidden, layers, heads, kv_heads, head_dim{}, experts = 8, active = 2;  // head_dim 0: dim / heads
  real eps = 1e-5;
  bool tied{};
  rotary rope{.theta = 1e6};
};

constexpr attention_options mixtral_attend(const mixtral_config& c) {
  const u32 head_dim = c.head_dim ? c.head_dim : c.dim / c.heads;
  rotary rope = c.rope;
  rope.dims = head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = head_dim, .rope = rope};
}

template <mixtral_config C> struct mixtral : network<
    embedding<C.vocab, C.dim>,
    stack<C.layers, block<
        residual<rms_norm<C.dim, C.eps>, attention<mixtral_attend(C)>>,
        residual<rms_norm<C.dim, C.eps>, moe<moe_options{.dim = C.dim, .hidden = C.expert_hidden, .route = {
            .experts = C.experts, .active = C.active, .renormalise = true}}>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"mixtral">;
  static constexpr mixtral_config config = C;
};

template <> struct family<"mixtral"> {
  using config = mixtral_config;
  template <config C> using type = mixtral<C>;
  static constexpr std::string_view name = "mixtral", gguf_architecture = "llama", header = "cke/models/mixtral.hpp", type_name = "cke::mixtral";
  static constexpr config_key keys[] = {
      key::vocab, key::dim, {"expert_hidden", "intermediate_size", "feed_forward_length", false, 1, 1 << 22}, key::layers, key::heads,
      key::kv_heads, key::head_dim, key::experts.or_default(), key::active.or_default(), key::eps, key::tied, key::rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}, {"sliding_window", "null"}};
  static constexpr config defaults{.vocab = 0, .dim = 0, .expert_hidden = 0, .layers = 0, .heads = 0, .kv_heads = 0};
  static constexpr config finish(config c) {
    c.kv_heads = c.kv_heads ? c.kv_heads : c.heads;
    c.head_dim = c.head_dim || c.heads == 0 ? c.head_dim : c.dim / c.heads;
    return c;
  }
  static constexpr auto names = expert_names + paired_rules + std::array{
      name_rule{place::body, role::router, 0, "model.layers.{}.block_sparse_moe.gate|model.layers.{}.mlp.gate", "blk.{}.ffn_gate_inp"},
      name_rule{place::body, role::gate_experts, 0, "model.layers.{}.block_sparse_moe.experts.{}.w1|=model.layers.{}.mlp.experts.gate_up_proj[0]", "blk.{}.ffn_gate_exps"},
      name_rule{place::body, role::up_experts, 0, "model.layers.{}.block_sparse_moe.experts.{}.w3|=model.layers.{}.mlp.experts.gate_up_proj[1]", "blk.{}.ffn_up_exps"},
      name_rule{place::body, role::down_experts, 0, "model.layers.{}.block_sparse_moe.experts.{}.w2|=model.layers.{}.mlp.experts.down_proj", "blk.{}.ffn_down_exps"}};
};

struct Mixtral_8x7B : mixtral<mixtral_config{.vocab = 32000, .dim = 4096, .expert_hidden = 14336, .layers = 32, .heads = 32, .kv_heads = 8}> {};
struct Mixtral_8x22B : mixtral<mixtral_config{.vocab = 32768, .dim = 6144, .expert_hidden = 16384, .layers = 56, .heads = 48, .kv_heads = 8}> {};

}  // namespace cke

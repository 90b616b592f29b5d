// SPDX-License-Identifier: MIT
// granitemoe.hpp: Granite with experts: the four multipliers, and a softmax over the chosen experts alone.
#pragma once

#include "granite.hpp"

namespace cke {

struct granitemoe_config {
  u32 vocab, dim, expert_hidden, layers, heads, kv_heads, head_dim{}, experts = 32, active = 8;  // head_dim 0: dim / heads
  real embedding_multiplier = 12, attention_multiplier = 0.015625, residual_multiplier = 0.22, logits_scaling = 6;
  real eps = 1e-6;
  bool tied = true, attention_bias{};
  rotary rope{.theta = 1e4};
};

template <granitemoe_config C> struct granitemoe : network<
    embedding<C.vocab, C.dim>,
    scale<C.dim, C.embedding_multiplier>,
    stack<C.layers, block<
        residual<rms_norm<C.dim, C.eps>, attention<granite_attend(C)>, scale<C.dim, C.residual_multiplier>>,
        residual<rms_norm<C.dim, C.eps>, moe<moe_options{.dim = C.dim, .hidden = C.expert_hidden, .route = {
            .experts = C.experts, .active = C.active, .score = scoring::softmax_of_chosen}}>, scale<C.dim, C.residual_multiplier>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>,
    scale<C.vocab, 1 / C.logits_scaling.v>> {
  using family = cke::family<"granitemoe">;
  static constexpr granitemoe_config config = C;
};

inline constexpr std::array granite_expert_rules{
    name_rule{place::body, role::router, 0, "model.layers.{}.block_sparse_moe.router.layer|model.layers.{}.block_sparse_moe.router", "blk.{}.ffn_gate_inp"},
    name_rule{place::body, role::gate_experts, 0, "model.layers.{}.block_sparse_moe.input_linear[0]|=model.layers.{}.block_sparse_moe.experts.gate_up_proj[0]", "blk.{}.ffn_gate_exps"},
    name_rule{place::body, role::up_experts, 0, "model.layers.{}.block_sparse_moe.input_linear[1]|=model.layers.{}.block_sparse_moe.experts.gate_up_proj[1]", "blk.{}.ffn_up_exps"},
    name_rule{place::body, role::down_experts, 0, "model.layers.{}.block_sparse_moe.output_linear|=model.layers.{}.block_sparse_moe.experts.down_proj", "blk.{}.ffn_down_exps"}};

template <> struct family<"granitemoe"> {
  using config = granitemoe_config;
  template <config C> using type = granitemoe<C>;
  static constexpr std::string_view name = "granitemoe", header = "cke/models/granitemoe.hpp", type_name = "cke::granitemoe";
  static constexpr config_key keys[] = {
      key::vocab, key::dim, {"expert_hidden", "intermediate_size", "feed_forward_length", false, 1, 1 << 22}, key::layers, key::heads,
      key::kv_heads, key::head_dim, key::experts.or_default(), key::active.or_default(),
      key::embedding_multiplier, key::attention_multiplier, key::residual_multiplier, key::logits_scaling, key::eps, key::tied,
      key::attention_bias, key::rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}};
  static constexpr config defaults{.vocab = 0, .dim = 0, .expert_hidden = 0, .layers = 0, .heads = 0, .kv_heads = 0, .experts = 8, .active = 2,
                                   .embedding_multiplier = 1, .attention_multiplier = 1, .residual_multiplier = 1, .logits_scaling = 1, .tied = false};
  static constexpr config gguf_defaults{.vocab = 0, .dim = 0, .expert_hidden = 0, .layers = 0, .heads = 0, .kv_heads = 0, .embedding_multiplier = 1,
                                        .attention_multiplier = 0, .residual_multiplier = 1, .logits_scaling = 1};
  static constexpr config finish(config c) {
    c.kv_heads = c.kv_heads ? c.kv_heads : c.heads;
    c.head_dim = c.head_dim || c.heads == 0 ? c.head_dim : c.dim / c.heads;
    return c;
  }
  static constexpr auto names = expert_names + paired_rules + granite_expert_rules;
};

struct Granite_3_0_1B_A400M : granitemoe<granitemoe_config{.vocab = 49155, .dim = 1024, .expert_hidden = 512, .layers = 24, .heads = 16, .kv_heads = 8}> {};
struct Granite_3_0_3B_A800M : granitemoe<granitemoe_config{.vocab = 49155, .dim = 1536, .expert_hidden = 512, .layers = 32, .heads = 24, .kv_heads = 8, .experts = 40}> {};

}  // namespace cke

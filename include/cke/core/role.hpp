// SPDX-License-Identifier: MIT
// role.hpp: the role of a weight in its layer, and the tensor names that checkpoints give it.
#pragma once

#include <array>
#include <span>

#include "spelling.hpp"

CKE_COMPILED_ONCE
namespace cke {

enum class role : u8 {
  embed,
  head,
  norm,
  q,
  k,
  v,
  o,
  q_norm,
  k_norm,
  gate,
  up,
  down,
  router,
  router_bias,
  gate_experts,
  up_experts,
  down_experts,
  gate_shared,
  up_shared,
  down_shared,
  shared_gate,
  conv_in,
  conv,
  conv_out,
  layer_embed,
  layer_project,
  layer_project_norm,
  layer_gate,
  layer_out,
  layer_scalar,
  router_norm,
  expert_scale,
  q_gate,
  delta_q,
  delta_k,
  delta_v,
  delta_gate,
  alpha,
  beta,
  decay,
  step_bias,
  delta_norm,
  delta_out,
  q_a,
  q_a_norm,
  q_b,
  kv_a,
  kv_a_norm,
  k_b,
  v_b,
  ssm_gate,
  ssm_in,
  ssm_step,
  skip,
  ssm_norm,
  ssm_out,
  latent_down,
  latent_up,
  patch,
  positions,
  projector_up,
  projector_down,
  std_bias,
  std_scale,
  input_min,
  input_max,
  output_min,
  output_max,
  probe
};

struct role_name {
  role is;
  std::string_view name;
};
inline constexpr role_name role_names[] = {{role::embed, "embed"},
                                           {role::head, "head"},
                                           {role::norm, "norm"},
                                           {role::q, "q"},
                                           {role::k, "k"},
                                           {role::v, "v"},
                                           {role::o, "o"},
                                           {role::q_norm, "q_norm"},
                                           {role::k_norm, "k_norm"},
                                           {role::gate, "gate"},
                                           {role::up, "up"},
                                           {role::down, "down"},
                                           {role::router, "router"},
                                           {role::router_bias, "router_bias"},
                                           {role::gate_experts, "gate_experts"},
                                           {role::up_experts, "up_experts"},
                                           {role::down_experts, "down_experts"},
                                           {role::gate_shared, "gate_shared"},
                                           {role::up_shared, "up_shared"},
                                           {role::down_shared, "down_shared"},
                                           {role::shared_gate, "shared_gate"},
                                           {role::conv_in, "conv_in"},
                                           {role::conv, "conv"},
                                           {role::conv_out, "conv_out"},
                                           {role::layer_embed, "layer_embed"},
                                           {role::layer_project, "layer_project"},
                                           {role::layer_project_norm, "layer_project_norm"},
                                           {role::layer_gate, "layer_gate"},
                                           {role::layer_out, "layer_out"},
                                           {role::layer_scalar, "layer_scalar"},
                                           {role::router_norm, "router_norm"},
                                           {role::expert_scale, "expert_scale"},
                                           {role::q_gate, "q_gate"},
                                           {role::delta_q, "delta_q"},
                                           {role::delta_k, "delta_k"},
                                           {role::delta_v, "delta_v"},
                                           {role::delta_gate, "delta_gate"},
                                           {role::alpha, "alpha"},
                                           {role::beta, "beta"},
                                           {role::decay, "decay"},
                                           {role::step_bias, "step_bias"},
                                           {role::delta_norm, "delta_norm"},
                                           {role::delta_out, "delta_out"},
                                           {role::q_a, "q_a"},
                                           {role::q_a_norm, "q_a_norm"},
                                           {role::q_b, "q_b"},
                                           {role::kv_a, "kv_a"},
                                           {role::kv_a_norm, "kv_a_norm"},
                                           {role::k_b, "k_b"},
                                           {role::v_b, "v_b"},
                                           {role::ssm_gate, "ssm_gate"},
                                           {role::ssm_in, "ssm_in"},
                                           {role::ssm_step, "ssm_step"},
                                           {role::skip, "skip"},
                                           {role::ssm_norm, "ssm_norm"},
                                           {role::ssm_out, "ssm_out"},
                                           {role::latent_down, "latent_down"},
                                           {role::latent_up, "latent_up"},
                                           {role::patch, "patch"},
                                           {role::positions, "positions"},
                                           {role::projector_up, "projector_up"},
                                           {role::projector_down, "projector_down"},
                                           {role::std_bias, "std_bias"},
                                           {role::std_scale, "std_scale"},
                                           {role::input_min, "input_min"},
                                           {role::input_max, "input_max"},
                                           {role::output_min, "output_min"},
                                           {role::output_max, "output_max"},
                                           {role::probe, "probe"}};
// One matrix per expert, stacked by rows.
constexpr bool of_experts(role r) {
  return r == role::gate_experts || r == role::up_experts || r == role::down_experts;
}
// One matrix per head, stacked by rows.
constexpr bool of_heads(role r) { return r == role::k_b || r == role::v_b; }
// Vectors that files may store in two dimensions: [heads, 1], [groups, size of a group], [positions, dim], or
// [1, 1, dim].
constexpr bool may_be_folded(role r) {
  return r == role::decay || r == role::skip || r == role::ssm_norm || r == role::positions || r == role::probe;
}
constexpr std::string_view name(role r) {
  for (const auto& row : role_names)
    if (row.is == r) return row.name;
  constant_error("cke: role: a role without a name");
}

struct weight_slot {
  role is{};
  u8 nth{};  // occurrence of this role inside its block
  bool bias{}, quantisable{};
  bool tied{};         // the file stores it under another tensor's name
  u32 rows{}, cols{};  // (out, in); a vector is (1, n), the taps of a convolution (channels, taps)
  u32 group{};         // rows that must start a packed unit: those of a kv head or an expert; 0: none
  u32 part{};          // rows of one head, if the file interleaves this role with others head by head
  constexpr u64 elements() const { return u64{rows} * cols; }
};

// Whose tensor names and layout a checkpoint uses.
enum class naming : u8 { hf, gguf };

enum class place : u8 { header, body, footer };

// What the file's layout changes in a tensor. GGUF's converter interleaves rows i and i + d/2 of each head in llama's q
// and k (paired_heads), adds 1 to gemma's norms (plus_one) and stores a decay as -e^x (minus_exp). Hugging Face files
// hold the latent matrix of each head's keys as (key dims, latent), which is `transposed`.
enum class change : u8 { none, paired_heads, plus_one, minus_exp, transposed };

// The first "{}" stands for the layer, the second for the expert. ".weight" or ".bias" is appended, or "_weight" and
// "_bias", unless the name is exact. Roles that a file keeps in one tensor share its name and have a suffix: "[0]",
// "[1]", ... is the order of their rows in the tensor (of each expert), "<0>", "<1>", ... the order within each head.
// "a|b": the tensor is called a, or else b.
struct name_rule {
  place where;
  role is;
  u8 nth;
  spellings hf, gguf;
  change gguf_change = change::none, hf_change = change::none;
  constexpr change in_file(naming as) const { return as == naming::hf ? hf_change : gguf_change; }
  constexpr const spellings& in(naming as) const { return as == naming::hf ? hf : gguf; }

  constexpr name_rule in_gguf(change c) const {
    name_rule r = *this;
    r.gguf_change = c;
    return r;
  }
  constexpr name_rule in_hf(change c) const {
    name_rule r = *this;
    r.hf_change = c;
    return r;
  }
};
constexpr name_rule header_name(role is, spellings hf, spellings gguf) { return {place::header, is, 0, hf, gguf}; }
constexpr name_rule footer_name(role is, u8 nth, spellings hf, spellings gguf) {
  return {place::footer, is, nth, hf, gguf};
}
constexpr name_rule footer_name(role is, spellings hf, spellings gguf) { return footer_name(is, 0, hf, gguf); }
constexpr name_rule layer_name(role is, u8 nth, spellings hf, spellings gguf) {
  return {place::body, is, nth, hf, gguf};
}
constexpr name_rule layer_name(role is, spellings hf, spellings gguf) { return layer_name(is, 0, hf, gguf); }

template <std::size_t A, std::size_t B>
constexpr auto operator+(const std::array<name_rule, A>& a, const std::array<name_rule, B>& b) {
  std::array<name_rule, A + B> all{};
  for (std::size_t i = 0; i < A; ++i) all[i] = a[i];
  for (std::size_t i = 0; i < B; ++i) all[A + i] = b[i];
  return all;
}

// A later rule overrides an earlier one, so a family's names are "the common names + its own".
template <class Rules>
constexpr const name_rule& name_of(const Rules& rules, place p, const weight_slot& w) {
  for (std::size_t i = rules.size(); i-- > 0;)
    if (rules[i].where == p && rules[i].is == w.is && rules[i].nth == w.nth) return rules[i];
  constant_error("cke: names: the family names no tensor for this role; add a name_rule");
}

inline constexpr std::array common_names{
    header_name(role::embed, "model.embed_tokens", "token_embd"),
    footer_name(role::norm, "model.norm", "output_norm"),
    footer_name(role::head, "lm_head", "output"),
    layer_name(role::norm, "model.layers.{}.input_layernorm", "blk.{}.attn_norm"),
    layer_name(role::norm, 1, "model.layers.{}.post_attention_layernorm", "blk.{}.ffn_norm"),
    layer_name(role::q, "model.layers.{}.self_attn.q_proj", "blk.{}.attn_q"),
    layer_name(role::k, "model.layers.{}.self_attn.k_proj", "blk.{}.attn_k"),
    layer_name(role::v, "model.layers.{}.self_attn.v_proj", "blk.{}.attn_v"),
    layer_name(role::o, "model.layers.{}.self_attn.o_proj", "blk.{}.attn_output"),
    layer_name(role::q_norm, "model.layers.{}.self_attn.q_norm", "blk.{}.attn_q_norm"),
    layer_name(role::k_norm, "model.layers.{}.self_attn.k_norm", "blk.{}.attn_k_norm"),
    layer_name(role::gate, "model.layers.{}.mlp.gate_proj", "blk.{}.ffn_gate"),
    layer_name(role::up, "model.layers.{}.mlp.up_proj", "blk.{}.ffn_up"),
    layer_name(role::down, "model.layers.{}.mlp.down_proj", "blk.{}.ffn_down"),
};

// For a family whose MLP is a mixture of experts; transformers 5 may save gate and up in one tensor.
inline constexpr std::array expert_rules{
    layer_name(role::router, "model.layers.{}.mlp.gate", "blk.{}.ffn_gate_inp"),
    layer_name(
        role::gate_experts,
        either("model.layers.{}.mlp.experts.{}.gate_proj", part(0, exact("model.layers.{}.mlp.experts.gate_up_proj"))),
        "blk.{}.ffn_gate_exps"),
    layer_name(
        role::up_experts,
        either("model.layers.{}.mlp.experts.{}.up_proj", part(1, exact("model.layers.{}.mlp.experts.gate_up_proj"))),
        "blk.{}.ffn_up_exps"),
    layer_name(role::down_experts,
               either("model.layers.{}.mlp.experts.{}.down_proj", exact("model.layers.{}.mlp.experts.down_proj")),
               "blk.{}.ffn_down_exps"),
    layer_name(role::gate_shared, "model.layers.{}.mlp.shared_experts.gate_proj", "blk.{}.ffn_gate_shexp"),
    layer_name(role::up_shared, "model.layers.{}.mlp.shared_experts.up_proj", "blk.{}.ffn_up_shexp"),
    layer_name(role::down_shared, "model.layers.{}.mlp.shared_experts.down_proj", "blk.{}.ffn_down_shexp"),
    layer_name(role::shared_gate, "model.layers.{}.mlp.shared_expert_gate", "blk.{}.ffn_gate_inp_shexp"),
    layer_name(role::router_bias, exact("model.layers.{}.mlp.gate.e_score_correction_bias"),
               exact("blk.{}.exp_probs_b.bias"))};
inline constexpr auto expert_names = common_names + expert_rules;

// For a family with one shared expert, as Qwen's.
inline constexpr std::array one_shared_expert_rules{
    layer_name(role::gate_shared, "model.layers.{}.mlp.shared_expert.gate_proj", "blk.{}.ffn_gate_shexp"),
    layer_name(role::up_shared, "model.layers.{}.mlp.shared_expert.up_proj", "blk.{}.ffn_up_shexp"),
    layer_name(role::down_shared, "model.layers.{}.mlp.shared_expert.down_proj", "blk.{}.ffn_down_shexp")};

// For a family whose q and k the GGUF converter reorders.
inline constexpr std::array paired_rules{
    layer_name(role::q, "model.layers.{}.self_attn.q_proj", "blk.{}.attn_q").in_gguf(change::paired_heads),
    layer_name(role::k, "model.layers.{}.self_attn.k_proj", "blk.{}.attn_k").in_gguf(change::paired_heads)};
inline constexpr auto paired_names = common_names + paired_rules;

// Tensor names: the model's own, or its family's.
template <class M> inline constexpr auto names_by_config = M::family::names_of(M::config);
template <class M> constexpr const auto& names_of() {
  if constexpr (requires { M::names; }) return M::names;
  else if constexpr (requires { M::family::names_of(M::config); }) return names_by_config<M>;
  else if constexpr (requires { M::family::names; }) return M::family::names;
  else return common_names;
}
// The same; none for a model that has no names.
template <class M> constexpr std::span<const name_rule> rules_of() {
  if constexpr (
      requires { M::names; } || requires { M::family::names_of(M::config); } || requires { M::family::names; })
    return names_of<M>();
  else return {};
}

}  // namespace cke

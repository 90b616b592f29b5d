// SPDX-License-Identifier: MIT
// opcode.hpp: one table of operations: number, name, and how its output is split over threads.
#pragma once

#include "types.hpp"

namespace cke {

// 0-19 are the runtime contract's numbers (ADR 0001); ours are from 32 up.
enum class opcode : u8 {
  rmsnorm = 0, multihead_attention = 1, swiglu = 2, moe = 3, mamba_mixer = 4, shortconv = 5,
  mla_attention = 6, embedding = 7, residual_add = 8,
  vision_patch_embed = 16, spatial_merge = 17, deepstack_extract = 18, scatter = 19,
  // 32-63: whole letters that the contract does not name
  logits = 32, scale, softcap, layer_embedding, layer_input, gated_delta_net, plain_mlp,
  // 64-95: the fine steps inside letters
  residual_save = 64, quantize, matmul, head_norm, rope, kv_store, attend, act_mul,
  router, route, sort_by_expert, gather, expert_act, expert_sum, gated_conv,
  causal_conv, gated_delta, gate_mul,
  latent_key, split_heads, head_matmul,
  act, expert_up, state_scan,
  // 96-127: what fusion makes of them
  norm_quantize = 96, head_norm_rope, act_mul_quantize, matmul_add, qkv_matmul, attend_quantize,
  matmul_act, matmul_act_quantize, expert_sum_add,
  up_act, up_act_quantize,
  none = 255
};

// How an instruction's work is cut into units; equal splits can share a phase without a barrier.
enum class split : u8 {
  per_thread,   // every thread does all of it, into memory of its own
  tokens,       // runs of token rows
  rows,         // 32 output rows of a matrix, or channels, all tokens
  kv_heads,     // a kv head with its query heads, all tokens
  tiles,        // a kv head and 16 tokens
  experts,      // an expert that a token may have chosen, and 32 rows of its matrix
  macro,        // a letter, not an executable step
};

// `local`: a unit reads only what the same unit of its producer wrote; else it needs all of its inputs.
struct partition {
  split by;
  bool local;
};

struct op_info {
  opcode op;
  std::string_view name;
  partition decode, prefill;  // decode: at most `decode_rows` tokens
};

inline constexpr u32 decode_rows = 16;

// Every executable opcode has exactly one row; the contract's letters that are steps too are listed as such.
inline constexpr op_info ops[] = {
    {opcode::rmsnorm, "rmsnorm", {split::per_thread, false}, {split::tokens, true}},
    {opcode::embedding, "embedding", {split::tokens, true}, {split::tokens, true}},
    {opcode::residual_add, "residual_add", {split::tokens, false}, {split::tokens, true}},
    {opcode::logits, "logits", {split::rows, false}, {split::rows, false}},
    {opcode::scale, "scale", {split::tokens, true}, {split::tokens, true}},
    {opcode::softcap, "softcap", {split::tokens, true}, {split::tokens, true}},
    {opcode::residual_save, "residual_save", {split::tokens, false}, {split::tokens, true}},
    {opcode::quantize, "quantize", {split::per_thread, false}, {split::tokens, true}},
    {opcode::matmul, "matmul", {split::rows, false}, {split::rows, false}},
    {opcode::head_norm, "head_norm", {split::kv_heads, true}, {split::tokens, true}},
    {opcode::rope, "rope", {split::kv_heads, true}, {split::tokens, true}},
    {opcode::kv_store, "kv_store", {split::kv_heads, true}, {split::tokens, true}},
    {opcode::attend, "attend", {split::kv_heads, true}, {split::tiles, false}},
    {opcode::act_mul, "act_mul", {split::tokens, false}, {split::tokens, true}},
    {opcode::norm_quantize, "norm_quantize", {split::per_thread, false}, {split::tokens, true}},
    {opcode::head_norm_rope, "head_norm_rope", {split::kv_heads, true}, {split::tokens, true}},
    {opcode::act_mul_quantize, "act_mul_quantize", {split::tokens, false}, {split::tokens, true}},
    {opcode::matmul_add, "matmul_add", {split::rows, false}, {split::rows, false}},
    {opcode::qkv_matmul, "qkv_matmul", {split::kv_heads, false}, {split::rows, false}},
    {opcode::attend_quantize, "attend_quantize", {split::kv_heads, true}, {split::tiles, false}},
    {opcode::matmul_act, "matmul_act", {split::rows, false}, {split::rows, false}},
    {opcode::matmul_act_quantize, "matmul_act_quantize", {split::rows, false}, {split::rows, false}},
    {opcode::router, "router", {split::rows, false}, {split::tokens, true}},
    {opcode::route, "route", {split::per_thread, false}, {split::tokens, true}},
    {opcode::sort_by_expert, "sort_by_expert", {split::per_thread, false}, {split::per_thread, false}},
    {opcode::gather, "gather", {split::per_thread, false}, {split::tokens, false}},
    {opcode::expert_act, "expert_act", {split::experts, false}, {split::experts, false}},
    {opcode::expert_sum, "expert_sum", {split::rows, false}, {split::rows, false}},
    {opcode::expert_sum_add, "expert_sum_add", {split::rows, false}, {split::rows, false}},
    {opcode::gated_conv, "gated_conv", {split::rows, false}, {split::rows, false}},
    {opcode::causal_conv, "causal_conv", {split::rows, false}, {split::rows, false}},
    {opcode::gated_delta, "gated_delta", {split::kv_heads, false}, {split::kv_heads, false}},
    {opcode::gate_mul, "gate_mul", {split::per_thread, false}, {split::tokens, true}},
    {opcode::latent_key, "latent_key", {split::per_thread, false}, {split::tokens, true}},
    {opcode::split_heads, "split_heads", {split::tokens, false}, {split::tokens, true}},
    {opcode::head_matmul, "head_matmul", {split::rows, false}, {split::rows, false}},
    {opcode::act, "act", {split::tokens, false}, {split::tokens, true}},
    {opcode::up_act, "up_act", {split::rows, false}, {split::rows, false}},
    {opcode::up_act_quantize, "up_act_quantize", {split::rows, false}, {split::rows, false}},
    {opcode::expert_up, "expert_up", {split::experts, false}, {split::experts, false}},
    {opcode::state_scan, "state_scan", {split::kv_heads, false}, {split::kv_heads, false}},
    {opcode::multihead_attention, "multihead_attention", {split::macro, false}, {split::macro, false}},
    {opcode::mla_attention, "mla_attention", {split::macro, false}, {split::macro, false}},
    {opcode::swiglu, "swiglu", {split::macro, false}, {split::macro, false}},
    {opcode::moe, "moe", {split::macro, false}, {split::macro, false}},
    {opcode::mamba_mixer, "mamba_mixer", {split::macro, false}, {split::macro, false}},
    {opcode::shortconv, "shortconv", {split::macro, false}, {split::macro, false}},
    {opcode::layer_embedding, "layer_embedding", {split::macro, false}, {split::macro, false}},
    {opcode::layer_input, "layer_input", {split::macro, false}, {split::macro, false}},
    {opcode::gated_delta_net, "gated_delta_net", {split::macro, false}, {split::macro, false}},
    {opcode::plain_mlp, "plain_mlp", {split::macro, false}, {split::macro, false}},
};

constexpr const op_info& info(opcode op) {
  for (const auto& row : ops)
    if (row.op == op) return row;
  throw "cke: opcode: an opcode without a row in the table";
}
constexpr std::string_view name(opcode op) { return info(op).name; }

consteval bool every_opcode_once() {
  for (const auto& a : ops) {
    u32 n = 0;
    for (const auto& b : ops) n += a.op == b.op || a.name == b.name;
    if (n != 1) return false;
  }
  return true;
}
static_assert(every_opcode_once());

}  // namespace cke

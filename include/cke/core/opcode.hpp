// SPDX-License-Identifier: MIT
// opcode.hpp: the numbers of operations, and the facts that each states beside its parameter block.
#pragma once

#include "types.hpp"

CKE_COMPILED_ONCE
namespace cke {

// 0-19 are the runtime contract's numbers (ADR 0001); ours start at 32.
enum class opcode : u8 {
  rmsnorm = 0,
  multihead_attention = 1,
  swiglu = 2,
  moe = 3,
  mamba_mixer = 4,
  shortconv = 5,
  mla_attention = 6,
  embedding = 7,
  residual_add = 8,
  vision_patch_embed = 16,
  spatial_merge = 17,
  deepstack_extract = 18,
  scatter = 19,
  // 32-63: layers (letters of layers.hpp) that the contract does not name
  logits = 32,
  scale,
  softcap,
  layer_embedding,
  layer_input,
  gated_delta_net,
  plain_mlp,
  layer_norm,
  learned_positions,
  average_pool,
  projector,
  affine,
  standardise,
  attention_pool,
  last_row,
  // 64-95: the steps that a letter lowers to
  residual_save = 64,
  quantize,
  matmul,
  head_norm,
  rope,
  kv_store,
  attend,
  act_mul,
  router,
  route,
  sort_by_expert,
  gather,
  expert_act,
  expert_sum,
  gated_conv,
  causal_conv,
  gated_delta,
  gate_mul,
  latent_key,
  split_heads,
  head_matmul,
  act,
  expert_up,
  state_scan,
  clamp,
  learned_row,
  // 96-127: fused steps
  norm_quantize = 96,
  head_norm_rope,
  act_mul_quantize,
  matmul_add,
  qkv_matmul,
  attend_quantize,
  matmul_act,
  matmul_act_quantize,
  expert_sum_add,
  up_act,
  up_act_quantize,
  layer_norm_quantize,
  none = 255
};

// How an instruction's work is cut into units. Two instructions with equal splits can share a phase without a barrier.
enum class split : u8 {
  per_thread,  // every thread computes all of it, into its own memory
  tokens,      // runs of token rows
  rows,        // 32 output rows of a matrix, or 32 channels, for all tokens
  kv_heads,    // a kv head with its query heads, for all tokens
  tiles,       // a kv head and some tiles of 16 tokens
  experts,     // an expert that a token may choose, and 32 rows of its matrix
  macro,       // a whole letter; lowered before execution
};

// `local`: a unit reads only what the same unit of its producer wrote. Otherwise it needs its whole input.
struct partition {
  split by;
  bool local;
};

// The template parameter of a kernel besides its opcode.
enum class typed_by : u8 {
  f32,      // nothing: rows are f32
  weights,  // the formats of its matrices
  cache,    // the format of the cache
};

// The facts of an operation that the graph needs. What only its kernel knows, such as its scratch, the kernel states.
struct op_facts {
  std::string_view name;
  partition decode{split::macro, false}, prefill{split::macro, false};  // decode: at most `decode_rows` tokens
  typed_by types{};
  u32 least_heads = 0;  // with fewer heads, decode is cut as prefill is: its own cut would occupy one thread for each
  u32 products = 1;     // matrices whose units follow one another; gate and up are read side by side and count once
  bool row_by_row{};    // cut by rows of a matrix, a token's results depend on that token alone: any tokens can be left
};

// operation<Op> stands beside the parameter block of Op, in operations/:
//   using params = matmul_params;
//   static constexpr op_facts facts{...};
//   static constexpr params fuse(...);      // of a fused one, where its block is not that of its first part
// A letter is not a step: it has a name and no block. Other numbers have neither.
struct no_block {
  constexpr void each(auto&&) const {}
  constexpr bool operator==(const no_block&) const = default;
};
struct no_step {
  using params = no_block;
};
template <opcode Op> struct operation : no_step {
  static constexpr op_facts facts{};
};

inline constexpr u32 decode_rows = 16;

}  // namespace cke

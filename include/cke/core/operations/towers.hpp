// SPDX-License-Identifier: MIT
// towers.hpp: operations of vision towers: patches, positions in a grid, rows that become one. Kernels:
// kernels/towers.hpp and, of the patches' matrix, kernels/linear.hpp.
#pragma once

#include "linear.hpp"
#include "rows.hpp"

namespace cke {

struct positions_params {
  u32 rows{}, cols{};  // of the table
  position_rule rule{};
  constexpr void each(auto&& f) const { f("rows", rows), f("cols", cols), f("rule", rule); }
  constexpr bool operator==(const positions_params&) const = default;
};
struct merge_params {
  u32 cols{}, by{};    // of a row that is read; how many of them become one
  bool interleaved{};  // the same column of all rows stands together
  constexpr void each(auto&& f) const { f("cols", cols), f("by", by), f("interleaved", interleaved); }
  constexpr bool operator==(const merge_params&) const = default;
};
struct pool_params {
  u32 heads{}, head_dim{};
  u32 by{};  // rows of keys and values that become one
  constexpr void each(auto&& f) const { f("heads", heads), f("head_dim", head_dim), f("by", by); }
  constexpr bool operator==(const pool_params&) const = default;
};

// A row's features and, after them, `parts` more for the first layers.
struct scatter_params {
  u32 cols{}, parts{};
  u32 pad{};  // the id that other steps see in rows of images
  constexpr void each(auto&& f) const { f("cols", cols), f("parts", parts), f("pad", pad); }
  constexpr bool operator==(const scatter_params&) const = default;
};

struct affine_params {
  u32 cols{};
  real by{}, offset{};
  constexpr void each(auto&& f) const { f("cols", cols), f("by", by), f("offset", offset); }
  constexpr bool operator==(const affine_params&) const = default;
};

// A convolution whose stride is its kernel: each patch times a matrix.
template <> struct operation<opcode::vision_patch_embed> {
  using params = matmul_params;
  static constexpr op_facts facts = product_facts("vision_patch_embed");
};
template <> struct operation<opcode::learned_positions> {
  using params = positions_params;
  static constexpr op_facts facts{"learned_positions", {split::tokens, false}, {split::tokens, true}};
};
template <> struct operation<opcode::layer_norm> {
  using params = norm_params;
  static constexpr op_facts facts{"layer_norm", {split::per_thread, false}, {split::tokens, true}};
};
template <> struct operation<opcode::layer_norm_quantize> {
  using params = norm_params;
  static constexpr op_facts facts{"layer_norm_quantize", {split::per_thread, false}, {split::tokens, true}};
};
template <> struct operation<opcode::affine> {
  using params = affine_params;
  static constexpr op_facts facts{"affine", {split::tokens, false}, {split::tokens, true}};
};
template <> struct operation<opcode::standardise> {
  using params = row_params;
  static constexpr op_facts facts{"standardise", {split::tokens, false}, {split::tokens, true}};
};
template <> struct operation<opcode::clamp> {
  using params = row_params;
  static constexpr op_facts facts{"clamp", {split::tokens, false}, {split::tokens, true}};
};
// Steps whose result has fewer rows: a unit of it reads rows of several units.
template <> struct operation<opcode::spatial_merge> {
  using params = merge_params;
  static constexpr op_facts facts{"spatial_merge", {split::tokens, false}, {split::tokens, false}};
};
template <> struct operation<opcode::average_pool> {
  using params = merge_params;
  static constexpr op_facts facts{"average_pool", {split::tokens, false}, {split::tokens, false}};
};

template <> struct operation<opcode::last_row> {
  using params = merge_params;
  static constexpr op_facts facts{"last_row", {split::tokens, false}, {split::tokens, false}};
};
template <> struct operation<opcode::attention_pool> {
  using params = pool_params;
  static constexpr op_facts facts{"attention_pool", {split::tokens, false}, {split::tokens, false}};
};
template <> struct operation<opcode::learned_row> {
  using params = row_params;
  static constexpr op_facts facts{"learned_row", {split::tokens, false}, {split::tokens, false}};
};

template <> struct operation<opcode::scatter> {
  using params = scatter_params;
  static constexpr op_facts facts{"scatter", {split::tokens, false}, {split::tokens, true}};
};

// ---- letters that are not steps --------------------------------------------------------------------

template <> struct operation<opcode::deepstack_extract> : no_step {
  static constexpr op_facts facts{"deepstack_extract"};
};
template <> struct operation<opcode::projector> : no_step {
  static constexpr op_facts facts{"projector"};
};

}  // namespace cke

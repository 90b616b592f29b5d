// SPDX-License-Identifier: MIT
// linear.hpp: matrix products, alone or fused with the steps after them. Kernels: kernels/linear.hpp.
#pragma once

#include "rows.hpp"

namespace cke {

// One or two matrices of one shape on one input; two, gate and up, are written side by side.
struct matmul_params {
  u32 rows{}, cols{};  // of each matrix: out, in
  u32 groups = 1;      // of rows that are packed together: those of a kv head
  u32 matrices = 1;
  bool bias{};
  constexpr void each(auto&& f) const {
    f("rows", rows), f("cols", cols), f("groups", groups == 1 ? 0 : groups),
        f("matrices", matrices == 1 ? 0 : matrices), f("bias", bias);
  }
  constexpr bool operator==(const matmul_params&) const = default;
};
struct matmul_act_params {
  matmul_params matmul;
  activation act{};
  constexpr void each(auto&& f) const { matmul.each(f), f("activation", act); }
  constexpr bool operator==(const matmul_act_params&) const = default;
};
struct qkv_params {
  u32 q_rows{}, k_rows{}, v_rows{}, cols{}, kv_heads{};
  bool bias{};
  constexpr u32 head_units() const { return kv_heads; }
  constexpr void each(auto&& f) const {
    f("q_rows", q_rows), f("k_rows", k_rows), f("v_rows", v_rows), f("cols", cols), f("kv_heads", kv_heads),
        f("bias", bias);
  }
  constexpr bool operator==(const qkv_params&) const = default;
};

constexpr op_facts product_facts(std::string_view name) {
  return {.name = name,
          .decode = {split::rows, false},
          .prefill = {split::rows, false},
          .types = typed_by::weights,
          .row_by_row = true};
}
template <> struct operation<opcode::matmul> {
  using params = matmul_params;
  static constexpr op_facts facts = product_facts("matmul");
};
template <> struct operation<opcode::logits> {
  using params = matmul_params;
  static constexpr op_facts facts = product_facts("logits");
};
template <> struct operation<opcode::matmul_add> {
  using params = matmul_params;
  static constexpr op_facts facts = product_facts("matmul_add");
};
// Cut by kv heads, it needs no barrier before the steps that work on a head.
template <> struct operation<opcode::qkv_matmul> {
  using params = qkv_params;
  static constexpr op_facts facts{.name = "qkv_matmul",
                                  .decode = {split::kv_heads, false},
                                  .prefill = {split::rows, false},
                                  .types = typed_by::weights,
                                  .least_heads = 4,
                                  .products = 3,
                                  .row_by_row = true};
  static constexpr params fuse(const matmul_params& q, const matmul_params& k, const matmul_params& v) {
    return {q.rows, k.rows, v.rows, q.cols, q.groups, q.bias};
  }
};

// act(gate x) * (up x), of two matrices.
template <> struct operation<opcode::matmul_act> {
  using params = matmul_act_params;
  static constexpr op_facts facts = product_facts("matmul_act");
  static constexpr params fuse(const matmul_params& gate_up, const act_params& act) { return {gate_up, act.act}; }
};
template <> struct operation<opcode::matmul_act_quantize> : operation<opcode::matmul_act> {
  static constexpr op_facts facts = product_facts("matmul_act_quantize");
};
// act(up x), of one matrix without a bias.
template <> struct operation<opcode::up_act> {
  using params = matmul_act_params;
  static constexpr op_facts facts = product_facts("up_act");
  static constexpr params fuse(const matmul_params& up, const act_params& act) { return {up, act.act}; }
};
template <> struct operation<opcode::up_act_quantize> : operation<opcode::up_act> {
  static constexpr op_facts facts = product_facts("up_act_quantize");
};

}  // namespace cke

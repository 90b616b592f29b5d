// SPDX-License-Identifier: MIT
// step_operands.hpp: what a step works on, by its parameter block: registers, weights, a state.
#pragma once

#include "contract.hpp"

CKE_COLD_BEGIN
namespace cke::graph {

// What a step works on, by its parameter block.
struct step_operands {
  struct row {
    u32 width;
    dtype as = dtype::f32;
    u32 rows = 1;  // of a token
  };
  struct matrix {
    u32 rows, cols;
  };
  upto<row, 5> in{}, out{};  // those that the step has no register for are left out
  upto<matrix, 8> weight{};
  state_shape state{};  // heads 0: none; rows 0: any
  bool known = true;    // else the step is one of towers or of images, which nothing is asked of here
};

namespace detail {

inline step_operands::row operand_row(const code& c, const instruction& i, u32 weight, u32 width, u32 rows = 1) {
  return {width, info(c.formats[i.weight[weight]]).partner, rows};
}
inline void add_biases(step_operands& o, bool bias, u32 matrices, u32 rows) {
  for (u32 n = 0; bias && n < matrices; ++n) o.weight.add({1, rows});
}

inline step_operands operands_of_matmul(const code& c, const instruction& i) {
  const auto& p = i.p.as<matmul_params>();
  step_operands o;
  for (u32 n = 0; n < i.in.count; ++n) o.in.add(operand_row(c, i, n, p.cols));
  o.out.add({p.rows * p.matrices});
  for (u32 n = 0; n < p.matrices; ++n) o.weight.add({p.rows, p.cols});
  add_biases(o, p.bias, p.matrices, p.rows);
  return o;
}

inline step_operands operands_of_heads(const instruction& i) {
  step_operands o;
  const auto both = [&](const head_shape& s) {
    o.in.add({s.heads * s.head_dim}), o.out.add({s.heads * s.head_dim});
    if (i.in.count > 1) o.in.add({s.kv_heads * s.head_dim}), o.out.add({s.kv_heads * s.head_dim});
  };
  if (i.op == opcode::head_norm) {
    const auto& p = i.p.as<head_norm_params>();
    both(p.shape);
    for (u32 n = 0; n < i.weight.count; ++n) o.weight.add({1, p.shape.head_dim});
  } else if (i.op == opcode::rope) {
    both(i.p.as<rope_params>().shape);
  } else if (i.op == opcode::kv_store) {
    const auto& p = i.p.as<kv_store_params>();
    for (u32 n = 0; n < 2; ++n) o.in.add({p.kv_heads * p.head_dim});
    o.state = {keeps_what::kv, {}, 0, p.kv_heads, p.head_dim};
  } else {
    const auto& p = i.p.as<attention_params>();
    o.in.add({p.shape.heads * p.shape.head_dim}), o.out.add({p.shape.heads * p.shape.head_dim});
    for (u32 n = 1; n < i.in.count; ++n) o.in.add({p.shape.kv_heads * p.shape.head_dim});  // where it stores them too
    o.state = {keeps_what::kv, {}, p.window, p.shape.kv_heads, p.shape.head_dim};
  }
  return o;
}

inline step_operands operands_of_experts(const code& c, const instruction& i) {
  step_operands o;
  const auto order = [&](const router& r) { o.in.add({4 * r.active}); };
  if (i.op == opcode::gather) {
    const auto& p = i.p.as<gather_params>();
    order(p.route), o.in.add({p.cols});
    o.out.add({p.cols, c.regs[i.out[0]].as, p.route.active});  // in the form that the matrices after it take
  } else if (i.op == opcode::expert_sum) {
    const auto& p = i.p.as<expert_sum_params>();
    order(p.route), o.in.add(operand_row(c, i, 0, p.cols, p.route.active)), o.out.add({p.rows});
    if (p.shared) o.in.add({p.rows});
    if (p.shared_gate) o.in.add({1});
    o.weight.add({p.route.experts * p.rows, p.cols});
  } else if (i.op == opcode::route || i.op == opcode::sort_by_expert) {
    const router& r = i.p.as<route_params>().route;
    const bool chooses = i.op == opcode::route;
    o.in.add({chooses ? r.experts : 2 * r.active}), o.out.add({(chooses ? 2 : 4) * r.active});
    for (u32 n = 0; n < i.weight.count; ++n) o.weight.add({1, r.experts});
  } else {
    const auto& p = i.p.as<expert_params>();
    order(p.route), o.out.add({p.rows, c.regs[i.out[0]].as, p.route.active});
    for (u32 n = 1; n < i.in.count; ++n) o.in.add(operand_row(c, i, n - 1, p.cols, p.route.active));
    for (u32 n = 0; n < i.weight.count; ++n) o.weight.add({p.route.experts * p.rows, p.cols});
  }
  return o;
}

inline step_operands operands_of_recurrent(const instruction& i) {
  step_operands o;
  if (i.op == opcode::gated_delta) {
    const auto& p = i.p.as<delta_params>();
    const u32 keys = p.key_heads * p.key_dim, values = p.value_heads * p.value_dim;
    for (const u32 width : {keys, keys, values, values, 2 * p.value_heads}) o.in.add({width});
    o.out.add({values});
    for (const u32 n : {p.value_heads, p.value_heads, p.value_dim}) o.weight.add({1, n});
    o.state = {keeps_what::delta, {}, p.key_dim, p.value_heads, p.value_dim};
  } else if (i.op == opcode::state_scan) {
    const auto& p = i.p.as<scan_params>();
    const u32 inner = p.heads * p.head_dim;
    for (const u32 width : {inner + 2 * p.groups * p.state, inner, p.heads}) o.in.add({width});
    o.out.add({inner});
    for (u32 n = 0; n < 3; ++n) o.weight.add({1, p.heads});
    o.state = {keeps_what::ssm, {}, p.state, p.heads, p.head_dim};
  } else {
    const bool gated = i.op == opcode::gated_conv;
    const conv_params& p = gated ? i.p.as<conv_params>() : i.p.as<conv_act_params>().conv;
    o.in.add({(gated ? 3 : 1) * p.channels}), o.out.add({p.channels});
    o.weight.add({p.channels, p.taps});
    add_biases(o, p.bias, 1, p.channels);
    o.state = {keeps_what::conv, {}, p.taps - 1, 1, p.channels};
  }
  return o;
}

inline step_operands operands_of_latent(const code& c, const instruction& i) {
  step_operands o;
  if (i.op == opcode::latent_key) {
    const auto& p = i.p.as<latent_key_params>();
    o.in.add({p.rank + p.rope.dims}), o.out.add({p.rank + p.rope.dims}), o.weight.add({1, p.rank});
  } else if (i.op == opcode::split_heads) {
    const auto& p = i.p.as<split_heads_params>();
    o.in.add({p.heads * p.head_dim}), o.out.add({p.cols, c.regs[i.out[0]].as, p.heads});
    if (p.rope.dims) o.out.add({c.regs[i.out[1]].width});
  } else {
    const auto& p = i.p.as<head_matmul_params>();
    o.in.add(operand_row(c, i, 0, p.cols, p.heads)), o.out.add({p.heads * p.head_dim});
    o.weight.add({p.heads * p.rows, p.cols});
  }
  return o;
}

inline step_operands operands_of_rows(const code& c, const instruction& i) {
  step_operands o;
  const auto rows = [&](u32 ins, u32 cols) {
    for (u32 n = 0; n < ins; ++n) o.in.add({cols});
    o.out.add({cols});
  };
  switch (i.op) {
    case opcode::quantize: {
      const u32 cols = i.p.as<row_params>().cols;
      o.in.add({cols}), o.out.add({cols, c.regs[i.out[0]].as});
      break;
    }
    case opcode::residual_save: rows(1, i.p.as<row_params>().cols); break;
    case opcode::residual_add:
    case opcode::gate_mul: rows(2, i.p.as<row_params>().cols); break;
    case opcode::softcap: rows(1, i.p.as<softcap_params>().cols); break;
    case opcode::act: rows(1, i.p.as<act_params>().cols); break;
    case opcode::scale:
      rows(1, i.p.as<scale_params>().cols);
      if (i.weight.count) o.weight.add({1, 1});
      break;
    case opcode::rmsnorm:
      rows(1, i.p.as<norm_params>().cols);
      o.weight.add({1, i.p.as<norm_params>().cols});
      break;
    case opcode::act_mul: {
      const u32 cols = i.p.as<act_params>().cols;
      if (i.in.count == 1) o.in.add({2 * cols}), o.out.add({cols});
      else rows(2, cols);
      break;
    }
    default: o.known = false;
  }
  return o;
}

}  // namespace detail

inline step_operands operands_of(const code& c, const instruction& i) {
  switch (i.op) {
    case opcode::embedding: {
      const auto& p = i.p.as<embedding_params>();
      step_operands o;
      o.in.add({1}), o.out.add({p.cols}), o.weight.add({p.rows, p.cols});
      return o;
    }
    case opcode::matmul:
    case opcode::logits:
    case opcode::router: return detail::operands_of_matmul(c, i);
    case opcode::head_norm:
    case opcode::rope:
    case opcode::kv_store:
    case opcode::attend: return detail::operands_of_heads(i);
    case opcode::route:
    case opcode::sort_by_expert:
    case opcode::gather:
    case opcode::expert_act:
    case opcode::expert_up:
    case opcode::expert_sum: return detail::operands_of_experts(c, i);
    case opcode::gated_conv:
    case opcode::causal_conv:
    case opcode::gated_delta:
    case opcode::state_scan: return detail::operands_of_recurrent(i);
    case opcode::latent_key:
    case opcode::split_heads:
    case opcode::head_matmul: return detail::operands_of_latent(c, i);
    default: return detail::operands_of_rows(c, i);
  }
}

}  // namespace cke::graph
CKE_COLD_END

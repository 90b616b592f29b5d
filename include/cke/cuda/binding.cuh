// SPDX-License-Identifier: MIT
// binding.cuh: turns an instruction into a kernel's step: first the constants of the program, then addresses.
#pragma once

#include "../graph/code.hpp"
#include "../kernels/attention/rope_frequencies.hpp"
#include "../kernels/kernel.hpp"
#include "kernel.cuh"

namespace cke::cuda {

// A step without addresses, and the registers and weight slots that they come from: a constant of the program.
struct unbound {
  step s{};
  reg in[4]{absent, absent, absent, absent}, out[2]{absent, absent}, product[3]{};
  u8 matrix[3]{}, bias[3]{absent, absent, absent}, vector[2]{absent, absent};  // weight slots
  u32 column[3]{};  // of its output register, where a product starts
  u8 state = absent;
};

// What a kernel is told of its parameter block. Blocks that no kernel of a device has say nothing.
constexpr void tell(step&, const auto&) {}
constexpr void tell(step& s, const row_params& p) { s.cols = p.cols; }
constexpr void tell(step& s, const embedding_params& p) { s.cols = p.cols; }
constexpr void tell(step& s, const norm_params& p) {
  s.cols = p.cols, s.eps = p.eps, s.offset = p.offset, s.scale = p.scale;
}
constexpr void tell(step& s, const scale_params& p) { s.cols = p.cols, s.scale = p.scale; }
constexpr void tell(step& s, const softcap_params& p) { s.cols = p.cols, s.cap = p.cap; }
constexpr void tell(step& s, const act_params& p) { s.cols = p.cols, s.act = p.act; }
constexpr void tell(step& s, const matmul_params& p) { s.cols = p.cols; }
constexpr void tell(step& s, const matmul_act_params& p) { s.cols = p.matmul.cols, s.act = p.act; }
constexpr void tell(step& s, const qkv_params& p) { s.cols = p.cols, s.kv_heads = p.kv_heads; }
constexpr void tell(step& s, const head_shape& p) {
  s.heads = p.heads, s.kv_heads = p.kv_heads, s.head_dim = p.head_dim;
}
constexpr void tell(step& s, const head_norm_params& p) { tell(s, p.shape), s.eps = p.eps, s.offset = p.offset; }
constexpr void tell(step& s, const rotary& r, u32 head_dim) {
  s.pairs = r.pairs, s.rope_width = rope_width(r, head_dim);
}
constexpr void tell(step& s, const rope_params& p) { tell(s, p.shape), tell(s, p.rope, p.shape.head_dim); }
constexpr void tell(step& s, const head_norm_rope_params& p) {
  tell(s, p.norm), tell(s, p.rope, p.norm.shape.head_dim);
}
constexpr void tell(step& s, const kv_store_params& p) { s.kv_heads = p.kv_heads, s.head_dim = p.head_dim; }
constexpr void tell(step& s, const attention_params& p) {
  tell(s, p.shape), s.window = p.window, s.scale = p.scale, s.cap = p.cap;
}
constexpr void tell(step& s, const route_params& p) { s.route = p.route; }
constexpr void tell(step& s, const gather_params& p) { s.cols = p.cols, s.route = p.route; }
constexpr void tell(step& s, const expert_params& p) { s.cols = p.cols, s.act = p.act, s.route = p.route; }
constexpr void tell(step& s, const expert_sum_params& p) {
  s.cols = p.cols, s.route = p.route, s.shared = p.shared, s.shared_gate = p.shared_gate;
}

constexpr unbound unbound_of(const code& c, const instruction& i) {
  unbound u;
  // A sum's own output is among its inputs; the other is the operand.
  for (u32 k = 0; k < i.in.count && k < 4; ++k) u.in[k] = i.in[k];
  for (u32 k = 0; k < i.out.count && k < 2; ++k) u.out[k] = i.out[k];
  u.state = i.state;
  step& s = u.s;
  i.p.visit([&](const auto& block) { tell(s, block); });
  u32 vectors = 0;
  for (u32 k = 0; k < i.weight.count; ++k) {
    const weight_slot& w = c.slots[i.weight[k]];
    if (w.quantisable)
      s.matrices[s.matrix_count].group = w.group ? w.group : w.rows, u.matrix[s.matrix_count++] = i.weight[k];
    else if (w.bias) u.bias[vectors++] = i.weight[k];
    else u.vector[vectors++] = i.weight[k];
  }
  // Each product has an output of its own, or they lie side by side in one.
  u32 column = 0;
  for (u32 k = 0; k < s.matrix_count; ++k) {
    const weight_slot& w = c.slots[u.matrix[k]];
    s.matrices[k].first = s.units, s.units += units_of_slot(w);
    u.product[k] = i.out[i.out.count > k ? k : 0];
    u.column[k] = k > 0 && i.out.count == 1 ? column : 0;
    column += w.rows;
  }
  return u;
}

// The addresses that differ from layer to layer: a step's weights, and its cache within a page.
struct addresses {
  const std::byte* matrix[3]{};
  const float *bias[3]{}, *vector[2]{};
  const float *cos{}, *sin{};
  u64 kv_offset{}, kv_block_bytes{};
  float scale{};
};

// view_of(reg, written) returns the view of a register.
template <class ViewOf> CKE_CONSTEXPR step bind(const unbound& u, const addresses& a, ViewOf&& view_of) {
  step s = u.s;
  CKE_UNROLL
  for (u32 k = 0; k < 4; ++k)
    if (u.in[k] != absent) s.in[k] = view_of(u.in[k], false);
  CKE_UNROLL
  for (u32 k = 0; k < 2; ++k) {
    if (u.out[k] != absent) s.out[k] = view_of(u.out[k], true);
    s.weight[k] = a.vector[k];
  }
  CKE_UNROLL
  for (u32 k = 0; k < 3; ++k) {
    if (k >= u.s.matrix_count) continue;
    s.matrices[k].packed = a.matrix[k], s.matrices[k].bias = a.bias[k];
    s.matrices[k].out = view_of(u.product[k], true);
    s.matrices[k].out.data += u64{u.column[k]} * sizeof(float);
  }
  s.cos = a.cos, s.sin = a.sin, s.kv_offset = a.kv_offset, s.kv_block_bytes = a.kv_block_bytes, s.scale = a.scale;
  return s;
}

}  // namespace cke::cuda

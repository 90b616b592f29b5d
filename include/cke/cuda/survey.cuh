// SPDX-License-Identifier: MIT
// survey.cuh: a compile-time dry run of a code's launches for one token, and which blocks run each part.
#pragma once

#include "../graph/program.hpp"
#include "../runtime/step_facts.hpp"
#include "binding.cuh"
#include "emit.cuh"
#include "stream.cuh"

namespace cke::cuda {

// Each launch of the graph becomes a part. Blocks of products, of key blocks and of heads are dealt out to the
// persistent blocks. Every block computes the row-wise steps whose results stay in the layer, which saves a barrier.
// (units: matrices that every token reads, so that their weights can be prefetched; chosen: routers and experts.)
enum class role : u8 { rows, units, chosen, stores, attends, joins, sums };

template <class Kernel> inline constexpr role role_of = role::rows;
template <dtype KV> inline constexpr role role_of<step_kernel<opcode::kv_store, KV>> = role::stores;
template <dtype F, u32 T> inline constexpr role role_of<multiply_kernel<F, T>> = role::units;
template <dtype KV> inline constexpr role role_of<attend_block_kernel<KV>> = role::attends;
template <> inline constexpr role role_of<attend_join_kernel> = role::joins;
template <> inline constexpr role role_of<step_kernel<opcode::router, dtype::f32>> = role::chosen;
template <dtype F, u32 T> inline constexpr role role_of<expert_kernel<F, T>> = role::chosen;
template <> inline constexpr role role_of<join_experts_kernel> = role::sums;

template <class Kernel> inline constexpr dtype format_of = dtype::none;
template <dtype F, u32 T> inline constexpr dtype format_of<multiply_kernel<F, T>> = F;

struct part {
  role is{};
  u32 blocks{}, shared_bytes{};
  u64 bytes{};    // weights that a block reads
  bool paired{};  // each block reads a unit of two matrices
  unit_shape unit{};
};
// A device for emitters that records what they would launch for one token.
struct survey {
  static constexpr bool one_token = true;
  small_vector<part, 4> parts;
  template <class Kernel> constexpr void launch(launch_shape g, const step& s) {
    part p{role_of<Kernel>, g.x * g.y * g.z, shared_bytes_of<Kernel>(s)};
    if constexpr (format_of<Kernel> != dtype::none) {
      p.unit = shape_of<format_of<Kernel>>(s.cols), p.paired = s.how == epilogue::gate;
      p.bytes = u64{p.unit.bytes} * (p.paired ? 2 : 1);
    }
    parts.push(p);
  }
};
template <const code& C, u32 I, dtype KV> constexpr survey survey_of() {
  survey found;
  step s = unbound_of(C, C.ops[I]).s;
  s.tokens = s.key_blocks = 1;
  emitter<C.ops[I].op, types_of(C, C.ops[I], KV), survey>::to(found, s, 1);
  return found;
}
// The matrices of the next product, to prefetch during barriers; none if their formats differ.
struct coming {
  u32 step{}, units{}, first[3]{}, matrices{};
  u64 unit_bytes{};  // of each matrix
};
struct surveyed {
  const code* c{};
  small_vector<survey, max_ops> steps;
  u32 heads{};    // kv heads that are dealt out to groups of blocks, or 0
  u64 packets{};  // bit r: every block has its own copy of register r and receives its parts as packets
};
constexpr bool comes_in_packets(const surveyed& s, reg r) { return s.packets >> r & 1; }

// Whether every block computes this step for itself in private memory: row-wise, and the result stays in the layer.
constexpr bool is_own(const surveyed& s, u32 step) {
  const instruction& i = s.c->ops[step];
  for (u32 k = 0; k < i.out.count; ++k)
    if (i.out[k] < first_scratch && !comes_in_packets(s, i.out[k])) return false;
  // softcap is excluded: its row is as long as the vocabulary.
  return s.steps[step].parts[0].is == role::rows && i.op != opcode::softcap;
}
// Whether step `at` reads register r from the block's private memory.
constexpr bool reads_own(const surveyed& s, u32 at, reg r) {
  if (comes_in_packets(s, r)) return true;
  for (u32 k = at; k-- > 0;)
    if (s.c->ops[k].out.has(r)) return is_own(s, k);
  return false;
}

// Whether a step works on each kv head separately: rows of products, norms and ropes, stores, attention.
constexpr bool is_of_heads(const code& c, u32 step, u32 heads) {
  const instruction& i = c.ops[step];
  if (i.op == opcode::matmul || i.op == opcode::qkv_matmul) {
    bool cut = true;
    for (u32 k = 0; k < i.weight.count; ++k)
      if (const weight_slot& w = c.slots[i.weight[k]]; w.quantisable)
        cut = cut && w.group > 0 && w.group * heads == w.rows;
    return cut;
  }
  return head_units(i.p) == heads &&
      (i.op == opcode::head_norm || i.op == opcode::rope || i.op == opcode::head_norm_rope ||
       i.op == opcode::kv_store || attends(i.op));
}
// The number of kv heads, if all steps of a head up to its attention depend on that head only; else 0.
constexpr u32 heads_of(const code& c) {
  u32 heads = 0;
  for (const instruction& i : c.ops)
    if (attends(i.op)) {
      if (heads != 0 && heads != head_units(i.p)) return 0;
      heads = head_units(i.p);
    }
  if (heads == 0) return 0;
  for (u32 at = 0; at < c.ops.size(); ++at) {
    const instruction& i = c.ops[at];
    const bool takes_heads = is_of_heads(c, at, heads) && i.op != opcode::matmul && i.op != opcode::qkv_matmul;
    for (u32 n = 0; n < i.in.count; ++n) {
      u32 by = at;  // the step that wrote it last
      while (by-- > 0 && !c.ops[by].out.has(i.in[n])) {}
      const bool leaves_heads = by < at && is_of_heads(c, by, heads) && !attends(c.ops[by].op);
      if (takes_heads != leaves_heads) return 0;
    }
  }
  return heads;
}
// The number of kv heads if the step is dealt out to groups by head; 0 if it is dealt out to all blocks.
constexpr u32 heads_of(const surveyed& s, u32 step) {
  return s.heads > 0 && is_of_heads(*s.c, step, s.heads) ? s.heads : 0;
}
// Whether such a step has one row per head, so that `rows_of_heads` cuts it. (Attention has heads in its launch shape.)
constexpr bool has_rows_of_heads(const instruction& i) {
  return i.op == opcode::head_norm || i.op == opcode::rope || i.op == opcode::head_norm_rope;
}
CKE_CONSTEXPR step rows_of_heads(step s, head_range mine) {
  const u32 of_kv = s.heads / s.kv_heads * s.head_dim;
  s.in[0].data += u64{mine.first} * of_kv * sizeof(float), s.out[0].data += u64{mine.first} * of_kv * sizeof(float);
  if (s.in[1].data)
    s.in[1].data += u64{mine.first} * s.head_dim * sizeof(float),
        s.out[1].data += u64{mine.first} * s.head_dim * sizeof(float);
  s.heads = s.heads / s.kv_heads * mine.count, s.kv_heads = mine.count;
  return s;
}

template <const code& C, dtype KV> constexpr surveyed survey_all() {
  surveyed all{&C, {}, heads_of(C)};
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (all.steps.push(survey_of<C, I, KV>()), ...);
  }(std::make_index_sequence<C.ops.size()>{});
  return all;
}

// The first product from step `at` on.
constexpr coming coming_at(const surveyed& s, u32 at) {
  for (; at < s.steps.size(); ++at) {
    const part& p = s.steps[at].parts[0];
    if (p.is != role::units) continue;
    if (s.steps[at].parts.size() > 1) break;
    const step u = unbound_of(*s.c, s.c->ops[at]).s;
    coming c{at, p.blocks, {}, u.matrix_count, p.bytes * p.blocks / u.units};
    // A unit of gate and one of up are read alternately.
    for (u32 k = 0; k < u.matrix_count; ++k) c.first[k] = p.blocks < u.units ? 0 : u.matrices[k].first;
    return c;
  }
  return {};
}

}  // namespace cke::cuda

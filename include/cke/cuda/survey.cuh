// SPDX-License-Identifier: MIT
// survey.cuh: what a code's emitters would launch for one token, part by part, and who runs which part.
#pragma once

#include "../runtime/workspace.hpp"
#include "binding.cuh"
#include "emit.cuh"
#include "stream.cuh"

namespace cke::cuda {

// The launches of the graph become parts. Blocks of products, of keys and of heads are dealt out to the blocks of the
// kernel; rows that no other block needs are computed by every block for itself, so that nobody waits for them.
// (units: of matrices that every token reads, whose weights come ahead; chosen: of those that it does not, and of routers.)
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
  u64 bytes{};    // of weights that a block reads
  bool paired{};  // each block those of two matrices
  unit_shape unit{};
};
// Emitters write down what they would launch, for one token.
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
// The matrices of the next product, whose weights can be on their way while blocks wait: none if formats differ.
struct coming {
  u32 step{}, units{}, first[3]{}, matrices{};
  u64 unit_bytes{};  // of one matrix
};
struct surveyed {
  const code* c{};
  small_vector<survey, max_ops> steps;
  u32 heads{};    // kv heads that groups of blocks share among themselves, or 0
  u64 packets{};  // registers that every block has for itself, and whose parts it hears from who wrote them: a bit each
};
constexpr bool comes_in_packets(const surveyed& s, reg r) { return s.packets >> r & 1; }

// Whether every block computes a step for itself, into memory of its own: rows, if they stay inside of the layer.
constexpr bool is_own(const surveyed& s, u32 step) {
  const instruction& i = s.c->ops[step];
  for (u32 k = 0; k < i.out.count; ++k)
    if (i.out[k] < first_scratch && !comes_in_packets(s, i.out[k])) return false;
  return s.steps[step].parts[0].is == role::rows && i.op != opcode::softcap;  // that one is as long as the vocabulary
}
// Whether step `at` finds register r in its block's own memory.
constexpr bool reads_own(const surveyed& s, u32 at, reg r) {
  if (comes_in_packets(s, r)) return true;
  for (u32 k = at; k-- > 0;)
    if (s.c->ops[k].out.has(r)) return is_own(s, k);
  return false;
}

// Whether a step does the same for each kv head, with what is the head's: rows of products, norms and ropes, stores, attention.
constexpr bool is_of_heads(const code& c, u32 step, u32 heads) {
  const instruction& i = c.ops[step];
  if (i.op == opcode::matmul || i.op == opcode::qkv_matmul) {
    bool cut = true;
    for (u32 k = 0; k < i.weight.count; ++k)
      if (const weight_slot& w = c.slots[i.weight[k]]; w.quantisable) cut = cut && w.group > 0 && w.group * heads == w.rows;
    return cut;
  }
  return head_units(i.p) == heads && (i.op == opcode::head_norm || i.op == opcode::rope || i.op == opcode::head_norm_rope || i.op == opcode::kv_store || attends(i.op));
}
// How many kv heads a code has, if who has a head needs nothing of the others', up to what they attended to; else 0.
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
      u32 by = at;  // who wrote it last
      while (by-- > 0 && !c.ops[by].out.has(i.in[n])) {}
      const bool leaves_heads = by < at && is_of_heads(c, by, heads) && !attends(c.ops[by].op);
      if (takes_heads != leaves_heads) return 0;
    }
  }
  return heads;
}
// Kv heads of a step that groups share, or 0: it is dealt out to all blocks.
constexpr u32 heads_of(const surveyed& s, u32 step) { return s.heads > 0 && is_of_heads(*s.c, step, s.heads) ? s.heads : 0; }
// Of such a step, that of some heads, which finds and leaves a row for each. (In attention, heads are in the launch's shape.)
constexpr bool has_rows_of_heads(const instruction& i) { return i.op == opcode::head_norm || i.op == opcode::rope || i.op == opcode::head_norm_rope; }
CKE_CONSTEXPR step rows_of_heads(step s, head_range mine) {
  const u32 of_kv = s.heads / s.kv_heads * s.head_dim;
  s.in[0].data += u64{mine.first} * of_kv * sizeof(float), s.out[0].data += u64{mine.first} * of_kv * sizeof(float);
  if (s.in[1].data) s.in[1].data += u64{mine.first} * s.head_dim * sizeof(float), s.out[1].data += u64{mine.first} * s.head_dim * sizeof(float);
  s.heads = s.heads / s.kv_heads * mine.count, s.kv_heads = mine.count;
  return s;
}

template <const code& C, dtype KV> constexpr surveyed survey_all() {
  surveyed all{&C, {}, heads_of(C)};
  [&]<std::size_t... I>(std::index_sequence<I...>) { (all.steps.push(survey_of<C, I, KV>()), ...); }(std::make_index_sequence<C.ops.size()>{});
  return all;
}

// Of the first product from step `at` on.
constexpr coming coming_at(const surveyed& s, u32 at) {
  for (; at < s.steps.size(); ++at) {
    const part& p = s.steps[at].parts[0];
    if (p.is != role::units) continue;
    if (s.steps[at].parts.size() > 1) break;
    const step u = unbound_of(*s.c, s.c->ops[at]).s;
    coming c{at, p.blocks, {}, u.matrix_count, p.bytes * p.blocks / u.units};
    for (u32 k = 0; k < u.matrix_count; ++k) c.first[k] = p.blocks < u.units ? 0 : u.matrices[k].first;  // gate and up are read side by side
    return c;
  }
  return {};
}

}  // namespace cke::cuda

// SPDX-License-Identifier: MIT
// schedule.hpp: splits a block's steps into phases, and finds the phases that a barrier must follow.
#pragma once

#include "code.hpp"

CKE_COLD_BEGIN
namespace cke::graph {

enum class form : u8 { decode, prefill };
constexpr form form_of(u32 tokens) { return tokens <= decode_rows ? form::decode : form::prefill; }
constexpr partition partition_of(const instruction& i, form f) {
  const op_info& is = info(i.op);
  return f == form::decode && (is.least_heads == 0 || head_units(i.p) >= is.least_heads) ? is.decode : is.prefill;
}

// Steps [first, first + per_thread) run on every thread, into its own memory. The next `count` steps run one after the
// other for each unit of work; threads share the units. A barrier follows unless the next phase is independent of this
// one.
struct phase {
  u8 first{}, per_thread{}, count{};
  split by{};
  bool barrier = true;
};

struct schedule {
  small_vector<phase, max_ops> phases;
  constexpr u32 barriers() const {
    u32 n = 0;
    for (const phase& p : phases) n += p.barrier;
    return n;
  }
};

constexpr bool is_per_thread(const code& c, form f, reg r) {
  for (const auto& i : c.ops)
    if (i.out.has(r)) return partition_of(i, f).by == split::per_thread;
  return false;
}

// Whether a barrier must stand between step k and the later step i. `together`: both run in one phase, unit by unit.
constexpr bool crosses(const code& c, form f, const instruction& k, const instruction& i, bool together) {
  const partition writer = partition_of(k, f), reader = partition_of(i, f);
  const bool own = together && reader.local && reader.by == writer.by;
  for (u32 o = 0; o < k.out.count; ++o)  // i reads or writes what other units of k write
    if ((i.in.has(k.out[o]) || i.out.has(k.out[o])) && !own && !is_per_thread(c, f, k.out[o])) return true;
  for (u32 n = 0; n < k.in.count; ++n)  // i writes what other units of k read
    if (i.out.has(k.in[n]) && !(own && writer.local)) return true;
  const bool stores = k.op == opcode::kv_store || i.op == opcode::kv_store;
  return stores && k.state != absent && k.state == i.state && !(own && writer.local);
}

constexpr schedule phases_of(const code& c, form f) {
  schedule s;
  phase now{};
  u32 since = 0;  // the first step after the last barrier
  for (u32 i = 0; i < c.ops.size(); ++i) {
    const partition how = partition_of(c.ops[i], f);
    bool waits = false;
    for (u32 k = since; k < i; ++k)
      waits |= crosses(c, f, c.ops[k], c.ops[i], k >= u32{now.first} + now.per_thread && how.by == now.by);
    const bool joins = now.count == 0 || (how.by != split::per_thread && how.by == now.by && how.local);
    if (i > 0 && (waits || !joins)) {
      now.barrier = waits;
      s.phases.push(now);
      now = phase{static_cast<u8>(i), 0, 0, split::per_thread};
      since = waits ? i : since;
    }
    if (how.by == split::per_thread) ++now.per_thread;
    else ++now.count, now.by = how.by;
  }
  if (c.ops.size() > 0) s.phases.push(now);
  return s;
}

constexpr bool attends(opcode op) { return op == opcode::attend || op == opcode::attend_quantize; }
// Whether a step writes a state. Attention only reads what kv_store has written.
constexpr bool stores(const instruction& i) { return i.state != absent && !attends(i.op); }

// In prefill form, the first phase after all stores that can skip rows at the front of the pass: a barrier precedes it,
// and every register that is live there holds f32 rows. Without such a phase, the number of phases.
constexpr u32 phase_after_stores(const code& c) {
  const schedule s = phases_of(c, form::prefill);
  u32 after = 0;
  for (u32 i = 0; i < c.ops.size(); ++i)
    if (stores(c.ops[i])) after = i + 1;
  const auto crosses_whole = [&](u32 step) {  // a register that is not stored as f32 rows
    for (u32 i = step; i < c.ops.size(); ++i)
      for (u32 n = 0; n < c.ops[i].in.count; ++n)
        for (u32 k = 0; k < step; ++k)
          if (c.ops[k].out.has(c.ops[i].in[n]) && c.regs[c.ops[i].in[n]].as != dtype::f32) return true;
    return false;
  };
  for (u32 p = 1; p < s.phases.size(); ++p)
    if (s.phases[p].first >= after && s.phases[p - 1].barrier && !crosses_whole(s.phases[p].first)) return p;
  return s.phases.size();
}

}  // namespace cke::graph
CKE_COLD_END

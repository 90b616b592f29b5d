// SPDX-License-Identifier: MIT
// exchanges.hpp: a program cut over ranks: whose units a step's are, and which results all ranks need whole.
#pragma once

#include "schedule.hpp"

CKE_COLD_BEGIN
namespace cke::graph {

// The contiguous part of n equal things that a rank has.
struct share_of_rank {
  u32 rank = 0, ranks = 1;
  struct range {
    u32 first, last;
    constexpr u32 count() const { return last - first; }
    constexpr bool has(u32 i) const { return first <= i && i < last; }
  };
  constexpr range of(u32 n) const {
    const auto cut = [&](u32 r) { return static_cast<u32>(u64{n} * r / ranks); };
    return {cut(rank), cut(rank + 1)};
  }
};

// What of a step a rank computes. Nothing is added up across ranks, so a cut never divides a chain of k.
enum class rank_cut : u8 {
  none,     // all of it: every rank has the whole result
  ids,      // rows of ids whose 32 rows of the table it has
  heads,    // heads, with their queries, keys and values
  rows,     // units of 32 output rows
  experts,  // the same units of every expert's matrix
};
struct cut_step {
  rank_cut by = rank_cut::none;
  u32 parts = 0;  // heads; units; units of an expert
  constexpr bool operator==(const cut_step&) const = default;
};

// Units of a matrix of `rows`, packed in groups; 0: one group.
constexpr u32 packed_units(u32 rows, u32 group) {
  const u32 in_group = group ? group : rows;
  return in_group ? rows / in_group * ceil_div(in_group, unit_rows) : 0;
}
constexpr u32 packed_units(const weight_slot& s) { return packed_units(s.rows, s.group); }

// Neither the number of ranks nor the form of a pass changes how a step is cut: one head, or one unit, is not.
constexpr cut_step cut_of(const code& c, u32 at) {
  const instruction& i = c.ops[at];
  const auto cut = [](rank_cut by, u32 parts) { return parts > 1 ? cut_step{by, parts} : cut_step{}; };
  switch (i.op) {
    case opcode::embedding: return cut(rank_cut::ids, packed_units(c.slots[i.weight[0]]));
    case opcode::kv_store:
    case opcode::attend:
    case opcode::attend_quantize:
    case opcode::gated_delta:
    case opcode::state_scan: return cut(rank_cut::heads, head_units(i.p));
    case opcode::head_norm:
    case opcode::rope:
    case opcode::head_norm_rope:  // cut where its input is
      // Rows that each thread norms whole for itself: what one thread turns, no other can store or attend with.
      if (is_per_thread(c, form::decode, i.in[0])) return cut(rank_cut::heads, head_units(i.p));
      for (u32 k = at; k-- > 0;)
        if (c.ops[k].out.has(i.in[0])) {
          const cut_step writer = cut_of(c, k);
          return writer == cut_step{rank_cut::heads, head_units(i.p)} ? writer : cut_step{};
        }
      return {};
    case opcode::expert_act:
    case opcode::expert_up: return cut(rank_cut::experts, packed_units(i.p.as<expert_params>().rows, 0));
    case opcode::expert_sum:
    case opcode::expert_sum_add: return cut(rank_cut::rows, packed_units(i.p.as<expert_sum_params>().rows, 0));
    case opcode::matmul:
      if (const u32 groups = i.p.as<matmul_params>().groups; groups > 1) return cut(rank_cut::heads, groups);
      return cut(rank_cut::rows, packed_units(c.slots[i.weight[0]]));
    case opcode::qkv_matmul: {
      if (head_units(i.p) > 1) return cut(rank_cut::heads, head_units(i.p));
      u32 units = 0;
      for (u32 k = 0; k < 3; ++k) units += packed_units(c.slots[i.weight[k]]);
      return cut(rank_cut::rows, units);
    }
    case opcode::logits:
    case opcode::matmul_add:
    case opcode::matmul_act:
    case opcode::matmul_act_quantize:
    case opcode::up_act:
    case opcode::up_act_quantize:
    case opcode::head_matmul: return cut(rank_cut::rows, packed_units(c.slots[i.weight[0]]));
    default: return {};
  }
}

// Whether a step reads of its registers what belongs to its own heads only.
constexpr bool reads_own_heads(opcode op) {
  return op == opcode::head_norm || op == opcode::rope || op == opcode::head_norm_rope || op == opcode::kv_store ||
      attends(op);
}

// Whether step k reads more of register r, which step `at` writes, than its own rank has written.
constexpr bool reads_whole(const code& c, u32 at, reg r, u32 k) {
  const cut_step how = cut_of(c, at);
  const bool own = how.by == rank_cut::heads && reads_own_heads(c.ops[k].op) && cut_of(c, k) == how;
  return c.ops[k].in.has(r) && !own;
}

// Whether all ranks need an output of a step whole.
constexpr bool is_exchanged(const code& c, u32 at, u32 output) {
  if (cut_of(c, at).by == rank_cut::none) return false;
  const reg r = c.ops[at].out[output];
  bool read = false;
  for (u32 k = at + 1; k < c.ops.size(); ++k) {
    if (reads_whole(c, at, r, k)) return true;
    if (c.ops[k].out.has(r)) return false;  // what it makes of it is its own matter
    read |= c.ops[k].in.has(r);
  }
  return !read;  // else it outlives the block
}

// The steps before a barrier whose outputs are exchanged there, all at once: steps [first, end), one bit an output.
struct exchange_table {
  u8 outputs[max_ops]{};
  constexpr bool any(u32 first, u32 end) const {
    for (u32 i = first; i < end; ++i)
      if (outputs[i]) return true;
    return false;
  }
};
constexpr exchange_table exchanges_of(const code& c) {
  exchange_table t;
  for (u32 i = 0; i < c.ops.size(); ++i)
    for (u32 o = 0; o < c.ops[i].out.count; ++o)
      if (is_exchanged(c, i, o)) t.outputs[i] = static_cast<u8>(t.outputs[i] | 1u << o);
  return t;
}
// f(first, end) for the steps that every exchange comes after: a run of phases without a barrier inside, or its part up
// to a step whose result another step of the same phase reads whole.
template <class F> constexpr void for_each_run(const code& c, const schedule& s, F f) {
  const auto is_read = [&](u32 at, u32 end) {
    for (u32 o = 0; o < c.ops[at].out.count && cut_of(c, at).by != rank_cut::none; ++o)
      for (u32 k = at + 1; k < end; ++k)
        if (reads_whole(c, at, c.ops[at].out[o], k)) return true;
    return false;
  };
  u32 first = 0;
  for (const phase& p : s.phases) {
    const u32 begin = u32{p.first} + p.per_thread, end = begin + p.count;
    for (u32 k = begin; k + 1 < end; ++k)
      if (is_read(k, end)) f(first, k + 1), first = k + 1;
    if (!p.barrier) continue;
    f(first, end);
    first = end;
  }
}
// All-gathers of a pass through a code.
constexpr u32 count_exchanges(const code& c, form f) {
  const exchange_table t = exchanges_of(c);
  u32 n = 0;
  for_each_run(c, phases_of(c, f), [&](u32 first, u32 end) { n += t.any(first, end); });
  return n;
}

// The units of a step that a rank runs, of those that a cut into `by` has: units [k] for k < count().
class own_units {
 public:
  // All units: a step that is not cut.
  constexpr explicit own_units(u32 units) : count_(units), runs_{{0, units}} {}
  // `units`: of the whole step.
  constexpr own_units(const code& c, u32 at, split by, share_of_rank who, u32 units) : own_units(units) {
    const cut_step how = cut_of(c, at);
    const instruction& i = c.ops[at];
    const share_of_rank::range own = who.of(how.parts);
    if (how.by == rank_cut::none || how.by == rank_cut::ids) return;
    if (how.by == rank_cut::heads && by == split::rows) {  // q, k and v one after the other, head by head in each
      count_ = 0;
      for (u32 k = 0, before = 0; k < info(i.op).products; ++k) {
        const u32 all = packed_units(c.slots[i.weight[k]]), of_head = all / how.parts;
        runs_[k] = {before + own.first * of_head, own.count() * of_head};
        before += all, count_ += runs_[k].count;
      }
      return;
    }
    const u32 each = by == split::tiles ? units / how.parts : 1;
    runs_[0] = {own.first * each, own.count() * each}, count_ = runs_[0].count;
    if (how.by == rank_cut::experts) apart_ = how.parts, count_ *= units / how.parts;
  }
  constexpr u32 count() const { return count_; }
  constexpr u32 operator[](u32 k) const {
    if (apart_) return k / runs_[0].count * apart_ + runs_[0].first + k % runs_[0].count;
    u32 n = 0;
    while (k >= runs_[n].count) k -= runs_[n++].count;
    return runs_[n].first + k;
  }

 private:
  struct run {
    u32 first{}, count{};
  };
  u32 count_, apart_ = 0;  // apart_: of experts, units from one to the next
  run runs_[3]{};
};

// Columns [first, first + count) of a row of an output that a rank writes: f(first, count).
template <class F> constexpr void for_own_columns(const code& c, u32 at, u32 output, share_of_rank who, F f) {
  const cut_step how = cut_of(c, at);
  const instruction& i = c.ops[at];
  const u32 width = c.regs[i.out[output]].width;
  const share_of_rank::range own = who.of(how.parts);
  if (own.count() == 0) return;
  const auto some = [&](u32 from, u32 rows, u32 first, u32 last) {  // units [first, last) of rows from `from` on
    const u32 begin = first * unit_rows, end = last * unit_rows < rows ? last * unit_rows : rows;
    if (begin < end) f(from + begin, end - begin);
  };
  if (how.by == rank_cut::heads) return f(width / how.parts * own.first, width / how.parts * own.count());
  if (how.by == rank_cut::experts) return some(0, i.p.as<expert_params>().rows, own.first, own.last);
  if (i.op == opcode::qkv_matmul) {
    u32 before = 0;
    for (u32 k = 0; k < output; ++k) before += packed_units(c.slots[i.weight[k]]);
    const u32 all = packed_units(c.slots[i.weight[output]]);
    const auto inside = [&](u32 unit) { return unit < before ? 0 : unit - before < all ? unit - before : all; };
    return some(0, width, inside(own.first), inside(own.last));
  }
  if (i.op == opcode::head_matmul) {
    const auto& p = i.p.as<head_matmul_params>();
    const u32 per = ceil_div(p.rows, unit_rows);
    for (u32 u = own.first; u < own.last; ++u) some(u / per * p.head_dim, p.rows, u % per, u % per + 1);
    return;
  }
  const u32 matrices = i.op == opcode::matmul ? i.p.as<matmul_params>().matrices : 1, rows = width / matrices;
  for (u32 m = 0; m < matrices; ++m) some(m * rows, rows, own.first, own.last);
}

// ---- weights ---------------------------------------------------------------------------------------

// Units of a packed matrix that a rank multiplies by, or reads: unit % period in [first, last).
struct own_rows {
  u32 period = 1, first = 0, last = 1;
  constexpr bool has(u32 unit) const { return first <= unit % period && unit % period < last; }
  constexpr bool operator==(const own_rows&) const = default;
};
constexpr own_rows own_rows_of(const code& c, u32 slot, share_of_rank who) {
  for (u32 at = 0; at < c.ops.size(); ++at) {
    const instruction& i = c.ops[at];
    for (u32 k = 0, before = 0; k < i.weight.count && !c.slots[i.weight[k]].bias; ++k) {
      const u32 units = packed_units(c.slots[i.weight[k]]);
      if (i.weight[k] != slot) {
        before += i.op == opcode::qkv_matmul ? units : 0;
        continue;
      }
      const cut_step how = cut_of(c, at);
      const share_of_rank::range own = who.of(how.parts);
      if (how.by == rank_cut::none) return {};
      if (how.by == rank_cut::heads) return {units, own.first * (units / how.parts), own.last * (units / how.parts)};
      if (i.op == opcode::expert_sum || i.op == opcode::expert_sum_add || how.by == rank_cut::experts)
        return {how.parts, own.first, own.last};
      const auto inside = [&](u32 unit) { return unit < before ? 0 : unit - before < units ? unit - before : units; };
      return {units, inside(own.first), inside(own.last)};
    }
  }
  return {};
}

}  // namespace cke::graph
CKE_COLD_END

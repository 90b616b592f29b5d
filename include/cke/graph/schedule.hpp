// SPDX-License-Identifier: MIT
// schedule.hpp: a block's steps as phases. All threads pass a barrier after each phase, nowhere else.
#pragma once

#include "code.hpp"

CKE_COLD_BEGIN
namespace cke {

enum class form : u8 { decode, prefill };
constexpr form form_of(u32 tokens) { return tokens <= decode_rows ? form::decode : form::prefill; }
constexpr shares shares_of(opcode op, form f) {
  return f == form::decode ? info(op).decode : info(op).prefill;
}

// Steps [first, first + redundant) run on every thread, into its own memory; the next `count` steps
// run one after the other for each unit of work.
struct phase {
  u8 first{}, redundant{}, count{};
  split by{};
};

struct schedule {
  small_vector<phase, max_ops> phases;
  constexpr u32 barriers() const { return phases.size(); }
};

constexpr bool is_private(const code& c, form f, reg r) {
  for (const auto& i : c.ops)
    if (i.out.has(r)) return shares_of(i.op, f).by == split::redundant;
  return false;
}

constexpr schedule phases_of(const code& c, form f) {
  schedule s;
  phase now{};
  auto close = [&] {
    if (now.redundant + now.count > 0) s.phases.push(now);
  };
  for (u32 i = 0; i < c.ops.size(); ++i) {
    const auto& op = c.ops[i];
    const shares how = shares_of(op.op, f);
    // Does this step read something that other units or threads of the open phase write?
    bool crosses = false;
    for (u32 k = now.first; k < i; ++k)
      for (u32 o = 0; o < c.ops[k].out.count; ++o) {
        const reg r = c.ops[k].out[o];
        const bool own = is_private(c, f, r) || (how.own && how.by == now.by);
        crosses |= (op.in.has(r) || op.out.has(r)) && !own;
      }
    // Does it write something that other units or threads of the open phase still read?
    for (u32 k = now.first; k < i; ++k) {
      const shares reader = shares_of(c.ops[k].op, f);
      const bool own = how.own && reader.own && reader.by == how.by;
      for (u32 n = 0; n < c.ops[k].in.count; ++n) crosses |= op.out.has(c.ops[k].in[n]) && !own;
    }
    // A store into a state is read by the next step's units, own or not.
    const bool after_store = i > now.first && c.ops[i - 1].op == opcode::kv_store && !how.own;
    const bool joins = how.by == split::redundant ? now.count == 0 : now.count == 0 || (how.by == now.by && how.own);
    if (i > now.first && (crosses || after_store || !joins)) {
      close();
      now = phase{static_cast<u8>(i), 0, 0, split::redundant};
    }
    if (how.by == split::redundant) ++now.redundant;
    else ++now.count, now.by = how.by;
  }
  close();
  return s;
}

}  // namespace cke
CKE_COLD_END

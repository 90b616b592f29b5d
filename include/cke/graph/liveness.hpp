// SPDX-License-Identifier: MIT
// liveness.hpp: when each register is last read, what dies after each step, how many live at once.
#pragma once

#include "code.hpp"

CKE_COMPILED_ONCE
namespace cke::graph {

struct liveness {
  static constexpr u32 never = ~0u;
  u32 first_write[max_regs]{}, last_read[max_regs]{};
  u64 kill_after[max_ops]{};  // one bit per register
  u64 never_read{};           // written but never read: a result, or a diagnostic
  u32 peak{};
  constexpr bool used(u32 r) const { return first_write[r] != never; }
  constexpr u32 last(u32 r) const { return last_read[r] == never ? first_write[r] : last_read[r]; }
  constexpr bool overlap(u32 a, u32 b) const { return first_write[a] <= last(b) && first_write[b] <= last(a); }
};
static_assert(max_regs <= 64, "kill sets are u64");

constexpr liveness live(const code& c) {
  liveness l;
  for (u32 r = 0; r < max_regs; ++r) l.first_write[r] = l.last_read[r] = liveness::never;
  for (u32 i = 0; i < c.ops.size(); ++i) {
    const auto& op = c.ops[i];
    for (u32 k = 0; k < op.in.count; ++k) {
      if (op.in[k] >= first_scratch && !l.used(op.in[k]))
        constant_error("cke: liveness: a register is read before anything writes it");
      l.last_read[op.in[k]] = i;
    }
    for (u32 k = 0; k < op.out.count; ++k)
      if (!l.used(op.out[k])) l.first_write[op.out[k]] = i;
  }
  u32 alive = 0;
  for (u32 i = 0; i < c.ops.size(); ++i) {
    for (u32 r = first_scratch; r < c.regs.size(); ++r) alive += l.first_write[r] == i;
    l.peak = alive > l.peak ? alive : l.peak;
    for (u32 r = first_scratch; r < c.regs.size(); ++r)
      if (l.used(r) && l.last(r) == i) l.kill_after[i] |= u64{1} << r, --alive;
  }
  for (u32 r = first_scratch; r < c.regs.size(); ++r)
    if (l.used(r) && l.last_read[r] == liveness::never) l.never_read |= u64{1} << r;
  return l;
}

}  // namespace cke::graph

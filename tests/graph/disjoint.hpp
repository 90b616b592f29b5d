// SPDX-License-Identifier: MIT
// disjoint.hpp: whether a memory plan is right, judged without the planner.
#pragma once

#include "cke/graph/plan.hpp"

namespace cke::graph {

// No two registers that are live together share a byte.
constexpr bool disjoint(const code& c, form f, const layout& p) {
  const schedule s = phases_of(c, f);
  lifetime life[max_regs]{};
  for (u32 a = first_scratch; a < c.regs.size(); ++a) {
    life[a] = lifetime_of(c, s, a);
    for (u32 b = first_scratch; b < a; ++b) {
      if (p.bytes[a] == 0 || p.bytes[b] == 0 || p.is_per_thread(a) != p.is_per_thread(b) || !together(life[a], life[b]))
        continue;
      if (p.offset[a] < p.offset[b] + p.bytes[b] && p.offset[b] < p.offset[a] + p.bytes[a]) return false;
    }
  }
  return true;
}

}  // namespace cke::graph

// SPDX-License-Identifier: MIT
// liveness.cpp: lifetimes of random codes against their definition.
#include "cke/graph/liveness.hpp"

#include <doctest/doctest.h>

#include "random_code.hpp"

using namespace cke;
using namespace cke::graph;

namespace {
bool reads(const code& c, u32 i, u32 r) { return c.ops[i].in.has(static_cast<reg>(r)); }
bool writes(const code& c, u32 i, u32 r) { return c.ops[i].out.has(static_cast<reg>(r)); }
}  // namespace

TEST_CASE("liveness: first writes, last reads, deaths and the peak are what their names say") {
  std::mt19937 random(1);
  u32 never = 0, highest = 0;
  for (u32 trial = 0; trial < 500; ++trial) {
    const code c = random_code(random, 1 + trial % 30);
    const liveness l = live(c);
    u32 deaths[max_regs]{};
    for (u32 i = 0; i < c.ops.size(); ++i)
      for (u32 r = 0; r < max_regs; ++r) deaths[r] += l.kill_after[i] >> r & 1;
    u32 peak = 0;
    for (u32 i = 0; i < c.ops.size(); ++i) {
      u32 alive = 0;
      for (u32 r = first_scratch; r < c.regs.size(); ++r) {
        bool made = false, wanted = false;
        for (u32 k = 0; k <= i; ++k) made = made || writes(c, k, r);
        for (u32 k = i; k < c.ops.size(); ++k) wanted = wanted || reads(c, k, r);
        const bool just_made = made && l.first_write[r] == i;
        alive += made && (wanted || just_made);
      }
      peak = std::max(peak, alive);
    }
    CHECK(l.peak == peak);
    highest = std::max(highest, peak);
    for (u32 r = first_scratch; r < c.regs.size(); ++r) {
      u32 first = liveness::never, last = liveness::never;
      for (u32 i = c.ops.size(); i-- > 0;) {
        if (writes(c, i, r)) first = i;
        if (reads(c, i, r) && last == liveness::never) last = i;
      }
      CHECK(l.first_write[r] == first);
      CHECK(l.last_read[r] == last);
      CHECK(deaths[r] == 1);  // every register is produced, so it dies once
      CHECK((l.kill_after[l.last(r)] >> r & 1) == 1);
      CHECK((l.never_read >> r & 1) == (last == liveness::never));
      never += last == liveness::never;
    }
    CHECK(deaths[stream] + deaths[token_ids] == 0);
  }
  CHECK(never > 100);
  CHECK(highest > 10);
}

// SPDX-License-Identifier: MIT
// plan.cpp: layouts of random codes: bytes are painted, and the size is held against the best order there is.
#include "cke/graph/plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "disjoint.hpp"
#include "random_code.hpp"

using namespace cke;
using namespace cke::graph;

namespace {

struct buffer {
  u64 bytes;
  lifetime life;
};

bool used_in(const code& c, const phase& p, u32 r) {
  for (u32 i = p.first; i < u32{p.first} + p.per_thread + p.count; ++i)
    if (c.ops[i].in.has(static_cast<reg>(r)) || c.ops[i].out.has(static_cast<reg>(r))) return true;
  return false;
}

// In units of 64 bytes: nobody's byte is touched between the first and the last phase that uses it.
bool painted(const code& c, const schedule& s, const layout& l, bool own) {
  std::vector<u32> owner;
  for (u32 p = 0; p < s.phases.size(); ++p) {
    owner.assign((own ? l.per_thread : l.shared) / 64, 0);
    for (u32 r = first_scratch; r < c.regs.size(); ++r) {
      if (l.is_per_thread(r) != own) continue;
      bool before = false, after = false;
      for (u32 k = 0; k < s.phases.size(); ++k) {
        if (!used_in(c, s.phases[k], r)) continue;
        before = before || k <= p, after = after || k >= p;
      }
      if (!before || !after) continue;
      for (u64 at = l.offset[r] / 64; at < (l.offset[r] + l.bytes[r]) / 64; ++at) {
        if (at >= owner.size() || owner[at]) return false;
        owner[at] = r;
      }
    }
  }
  return true;
}

// The least size over all orders in which buffers are put at the first place that fits.
u64 best_size(std::vector<buffer> buffers) {
  std::vector<u32> order(buffers.size());
  for (u32 i = 0; i < order.size(); ++i) order[i] = i;
  u64 best = ~u64{};
  do {
    std::vector<u64> at(buffers.size());
    u64 size = 0;
    for (u32 n = 0; n < order.size(); ++n) {
      const buffer& b = buffers[order[n]];
      u64 place = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (u32 k = 0; k < n; ++k) {
          const buffer& other = buffers[order[k]];
          const bool meets = b.life.from <= other.life.to && other.life.from <= b.life.to;
          if (meets && place < at[order[k]] + other.bytes && at[order[k]] < place + b.bytes)
            place = at[order[k]] + other.bytes, moved = true;
        }
      }
      at[order[n]] = place;
      size = std::max(size, place + b.bytes);
    }
    best = std::min(best, size);
  } while (std::ranges::next_permutation(order).found);
  return best;
}

}  // namespace

TEST_CASE("plan: no two registers that are alive together share a byte") {
  std::mt19937 random(3);
  u64 planned = 0, separate = 0;
  for (u32 trial = 0; trial < 300; ++trial) {
    const code c = random_code(random, 1 + trial % 30);
    for (const form f : {form::decode, form::prefill}) {
      const u32 rows = f == form::decode ? 1 + trial % decode_rows : 17 + trial % 10;
      const schedule s = phases_of(c, f);
      const layout l = place_registers(c, f, rows);
      CHECK(painted(c, s, l, false));
      CHECK(painted(c, s, l, true));
      CHECK(disjoint(c, f, l));
      for (u32 r = first_scratch; r < c.regs.size(); ++r) {
        CHECK(l.offset[r] % 64 == 0);
        CHECK(l.bytes[r] == register_bytes(c.regs[r], rows));
        CHECK(l.is_per_thread(r) == is_per_thread(c, f, static_cast<reg>(r)));
        separate += l.bytes[r];
      }
      planned += l.shared + l.per_thread;
    }
  }
  CHECK(planned * 5 < separate * 4);  // although random steps read registers long after they were made
}

TEST_CASE("plan: a wrong layout is found by the painter and by disjoint()") {
  std::mt19937 random(4);
  u32 found = 0;
  for (u32 trial = 0; trial < 100; ++trial) {
    const code c = random_code(random, 20);
    layout l = place_registers(c, form::prefill, 20);
    for (u64& at : l.offset) at = at / 128 * 64;
    const bool right =
        painted(c, phases_of(c, form::prefill), l, false) && painted(c, phases_of(c, form::prefill), l, true);
    CHECK(disjoint(c, form::prefill, l) == right);
    found += !right;
  }
  CHECK(found > 50);
}

TEST_CASE("plan: largest first is near the best order") {
  std::mt19937 random(5);
  u32 trials = 0, optimal = 0;
  while (trials < 200) {
    const code c = random_code(random, 9);
    const form f = form::prefill;
    const schedule s = phases_of(c, f);
    const layout l = place_registers(c, f, 20);
    std::vector<buffer> buffers;
    for (u32 r = first_scratch; r < c.regs.size(); ++r)
      if (!l.is_per_thread(r)) buffers.push_back({l.bytes[r], lifetime_of(c, s, r)});
    if (buffers.size() < 4 || buffers.size() > 7) continue;
    ++trials;
    const u64 best = best_size(buffers);
    CHECK(l.shared >= best);
    CHECK(l.shared <= best + best / 2);
    optimal += l.shared == best;
  }
  CHECK(optimal >= 150);
}

// SPDX-License-Identifier: MIT
// hazards.cuh: where a token's parts need a barrier: none, one of the group's blocks, or a grid barrier.
#pragma once

#include "survey.cuh"

namespace cke::cuda {

enum class waits : u8 { none, group, all };
// Bit k: before part k of a step there is a barrier of all blocks (`all`), or of each group (`group`).
struct waiters {
  u8 all = 0, group = 0;
  CKE_CONSTEXPR waiters of_next() const { return {static_cast<u8>(all >> 1), static_cast<u8>(group >> 1)}; }
};

// Registers as bits, plus one bit for the partial results that one part of a step leaves for the next. (The KV cache
// needs none: the block that stores a head's keys and values is the one that attends to its newest key block.)
struct touched {
  u64 written = 0, read = 0;
  static constexpr u64 parts = u64{1} << max_regs, outlive = parts | ((u64{1} << first_scratch) - 1);

  constexpr bool bars(const touched& next) const { return (next.read & written) || (next.written & (written | read)); }
  constexpr void add(const touched& o) { written |= o.written, read |= o.read; }
  constexpr void forget_scratch() { written &= outlive, read &= outlive; }
};

// The shared registers that part k of a step reads and writes.
constexpr touched touched_by(const surveyed& s, u32 step, u32 k) {
  const instruction& i = s.c->ops[step];
  const auto& of_step = s.steps[step].parts;
  const role is = of_step[k].is, last = of_step[of_step.size() - 1].is;
  const bool joined = last == role::joins || last == role::sums, takes = joined && k + 1 == of_step.size(),
             leaves = joined && !takes;
  touched t{leaves ? touched::parts : 0, takes ? touched::parts : 0};
  if (is != role::joins)
    for (u32 n = 0; n < i.in.count; ++n) t.read |= u64{!reads_own(s, step, i.in[n])} << i.in[n];
  if (!leaves)
    for (u32 n = 0; n < i.out.count; ++n)
      t.written |= u64{!is_own(s, step) && !comes_in_packets(s, i.out[n])} << i.out[n];
  return t;
}

// The accesses since the last barrier.
class hazards {
 public:
  // The barrier needed before part k of a step; records that part as executed after it.
  constexpr waits before(const surveyed& s, u32 step, u32 k) {
    const touched next = touched_by(s, step, k);
    const bool in_group = heads_of(s, step) > 0;
    waits who = waits::none;
    if (by_all_.bars(next) || (!in_group && by_groups_.bars(next)))
      who = waits::all, by_all_ = by_groups_ = fresh_ = {};
    else if (in_group && fresh_.bars(next)) who = waits::group, fresh_ = {};
    if (in_group) by_groups_.add(next), fresh_.add(next);
    else by_all_.add(next);
    return who;
  }
  // Scratch registers of different codes never share memory.
  constexpr void next_code() { by_all_.forget_scratch(), by_groups_.forget_scratch(), fresh_.forget_scratch(); }

 private:
  touched by_all_, by_groups_, fresh_;  // fresh: accesses within groups since the last group barrier
};

}  // namespace cke::cuda

// SPDX-License-Identifier: MIT
// plan.hpp: where registers live. Two registers share bytes only if they are never alive together.
#pragma once

#include "liveness.hpp"
#include "schedule.hpp"

CKE_COLD_BEGIN
namespace cke::graph {

// The sizes that a program is planned for, at compile time or when a model is loaded.
struct capacity {
  u32 context = 4096;  // positions of a session
  u32 chunk = 512;     // most tokens of one pass
  u32 logit_rows = 1;  // most rows of logits of one pass
};

// Floats between two rows of an f32 register: whole registers, and never a multiple of a page,
// which would put the rows of a tile into one cache set.
constexpr u32 row_stride(u32 width) { return static_cast<u32>(align_up(width, 16)) + 16; }

constexpr u64 register_bytes(const value& v, u32 tokens) {
  const u64 rows = u64{ceil_div(tokens, v.tokens)} * v.rows;
  switch (v.as) {
    case dtype::q8_0: return align_up(rows * (align_up(v.width, 64) / 32) * 48);  // i8[32], scale, sums
    case dtype::bf16: return align_up(rows * align_up(v.width, 8) * 4);           // some isas keep them as floats
    case dtype::f32: return align_up(rows * row_stride(v.width) * 4);
    default: constant_error("cke: plan: registers are f32, bf16 or q8_0");
  }
}

// Registers of a block, relative to the shared scratch area or to the thread's own.
struct layout {
  u64 offset[max_regs]{};
  u64 bytes[max_regs]{};
  u64 shared{}, per_thread{};  // bytes of the two areas
  u64 per_thread_registers{};  // one bit per register
  constexpr bool is_per_thread(u32 r) const { return per_thread_registers >> r & 1; }
};

// Lifetimes in runs of phases without a barrier between them. Within a run the order of units is unknown, so nothing is
// reused.
struct lifetime {
  u32 from = ~0u, to = 0;
};
constexpr lifetime lifetime_of(const code& c, const schedule& s, u32 r) {
  lifetime l;
  u32 run = 0;
  for (u32 p = 0; p < s.phases.size(); run += s.phases[p++].barrier)
    for (u32 i = 0; i < u32{s.phases[p].per_thread} + s.phases[p].count; ++i) {
      const auto& op = c.ops[s.phases[p].first + i];
      if (!op.in.has(static_cast<reg>(r)) && !op.out.has(static_cast<reg>(r))) continue;
      if (l.from == ~0u) l.from = run;
      l.to = run;
    }
  return l;
}
constexpr bool together(lifetime a, lifetime b) { return a.from <= b.to && b.from <= a.to; }

// First fit, largest first; offsets are 64-byte aligned.
CKE_OUT_OF_LINE constexpr layout place_registers(const code& c, form f, u32 rows) {
  const schedule s = phases_of(c, f);
  layout out;
  lifetime life[max_regs]{};
  bool done[max_regs]{};
  for (u32 r = first_scratch; r < c.regs.size(); ++r) {
    life[r] = lifetime_of(c, s, r);
    if (life[r].from == ~0u) {
      done[r] = true;
      continue;
    }
    out.bytes[r] = register_bytes(c.regs[r], rows);
    if (is_per_thread(c, f, static_cast<reg>(r))) out.per_thread_registers |= u64{1} << r;
  }
  bool placed[max_regs]{};
  for (;;) {
    u32 r = max_regs;
    for (u32 i = first_scratch; i < c.regs.size(); ++i)
      if (!done[i] && (r == max_regs || out.bytes[i] > out.bytes[r])) r = i;
    if (r == max_regs) return out;
    u64 at = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (u32 i = first_scratch; i < c.regs.size(); ++i) {
        const u64 end = out.offset[i] + out.bytes[i];
        if (placed[i] && out.is_per_thread(i) == out.is_per_thread(r) && together(life[i], life[r]) && at < end &&
            out.offset[i] < at + out.bytes[r])
          at = end, moved = true;
      }
    }
    done[r] = placed[r] = true;
    out.offset[r] = at;
    u64& total = out.is_per_thread(r) ? out.per_thread : out.shared;
    total = at + out.bytes[r] > total ? at + out.bytes[r] : total;
  }
}

}  // namespace cke::graph
CKE_COLD_END

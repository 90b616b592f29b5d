// SPDX-License-Identifier: MIT
// packets.cuh: rows that blocks exchange word by word instead of through a barrier: which, where, and when to wait.
#pragma once

#include "survey.cuh"

namespace cke::cuda {

// The words that hold columns [first, first + count) of a register's row; for q8_0 the codes, then their scales.
struct words_of {
  u32 begin, split, rest, count;
  CKE_CONSTEXPR u32 operator[](u32 i) const { return i < split ? begin + i : rest + (i - split); }
};
CKE_CONSTEXPR words_of columns_of(const view& v, u32 first, u32 count) {
  if (v.as == dtype::q8_0) return {first / 4, count / 4, (v.width + 63) / 64 * 16 + first / 16, count / 4 + count / 16};
  const u32 width = v.as == dtype::bf16 ? (v.width + 7) / 8 * 8 : v.width, each = v.as == dtype::bf16 ? 2 : 1;
  const u32 left = width - first < count ? width - first : count;
  return {first / each, left / each, 0, left / each};
}
CKE_CONSTEXPR words_of all_columns_of(const view& v) { return columns_of(v, 0, (v.width + 31) / 32 * 32); }

// Whether the last part of a step writes whole columns of one row, and a block can tell which. Widths are a multiple of
// 4, because packets are read in pairs.
constexpr bool can_send(const surveyed& s, u32 step) {
  const instruction& i = s.c->ops[step];
  const auto& parts = s.steps[step].parts;
  if (i.out.count != 1 || s.c->regs[i.out[0]].rows != 1 || s.c->regs[i.out[0]].width % 4 != 0 || i.op == opcode::logits)
    return false;
  if (parts[parts.size() - 1].is == role::joins) return s.c->regs[i.out[0]].width % 32 == 0;
  return parts.size() == 1 && parts[0].is == role::units && heads_of(s, step) == 0 &&
      (parts[0].paired || unbound_of(*s.c, i).s.matrix_count == 1);
}
// Registers of a code that packets can carry: every shared write of them is one that can be sent.
constexpr u64 sendable(const surveyed& s) {
  u64 sent = 0, other = 0;
  for (u32 step = 0; step < s.steps.size(); ++step)
    for (u32 n = 0; n < s.c->ops[step].out.count; ++n) {
      const u64 bit = u64{1} << s.c->ops[step].out[n];
      if (can_send(s, step)) sent |= bit;
      else if (s.steps[step].parts[0].is != role::rows || s.c->ops[step].op == opcode::softcap) other |= bit;
    }
  return sent & ~other;
}
// The register that a step sends as packets, or `absent`.
constexpr reg sent_by(const surveyed& s, u32 step) {
  const instruction& i = s.c->ops[step];
  return i.out.count == 1 && comes_in_packets(s, i.out[0]) && can_send(s, step) ? i.out[0] : reg{absent};
}
constexpr u32 words_of_row(const surveyed& s, reg r) { return static_cast<u32>(register_bytes(s.c->regs[r], 1) / 4); }
constexpr u32 words_sent(const surveyed& s, u32 step) {
  const reg r = sent_by(s, step);
  return r == absent ? 0 : words_of_row(s, r);
}

// For each step of each [code], the row whose packets it must wait for first, or `absent`: the row sent last, unless it
// has been received. `hold`: each row is received before the next is sent, so a block tracks a single row.
template <std::size_t Codes> struct turns {
  std::array<std::array<reg, max_ops>, Codes> heard{};
  bool hold = true;
};
// each_code(f) calls f(code, layer) in the order of a token.
template <std::size_t Codes, class EachCode> constexpr turns<Codes> turns_of(const std::array<surveyed, Codes>& of,
                                                                             EachCode each_code) {
  turns<Codes> t;
  for (auto& steps : t.heard) steps.fill(absent);
  reg sent = absent;
  each_code([&](u32 c, u32) {
    for (u32 i = 0; i < of[c].steps.size(); ++i) {
      const instruction& step = of[c].c->ops[i];
      if (sent != absent && (step.in.has(sent) || step.out.has(sent))) {
        t.hold = t.hold && (t.heard[c][i] == absent || t.heard[c][i] == sent);  // the same in every layer of this code
        t.heard[c][i] = sent, sent = absent;
      }
      const reg next = sent_by(of[c], i);
      t.hold = t.hold && (next == absent || sent == absent);
      if (next != absent) sent = next;
    }
  });
  t.hold = t.hold && sent == absent;
  return t;
}
// Uses packets only if every code can send the stream. Otherwise the stream needs a grid barrier, which serves all
// rows.
template <std::size_t Codes, class EachCode> constexpr std::array<surveyed, Codes> with_packets(
    std::array<surveyed, Codes> of, EachCode each_code) {
  constexpr u64 outlives_block = (u64{1} << first_scratch) - 1;
  bool sent = true;
  for (const surveyed& s : of)
    for (u32 i = 0; i < s.steps.size(); ++i)
      sent = sent && (!s.c->ops[i].out.has(stream) || can_send(s, i) || s.steps[i].parts[0].is == role::rows);
  if (!sent) return of;
  for (surveyed& s : of) s.packets = (sendable(s) & ~outlives_block) | u64{1} << stream;
  if (!turns_of(of, each_code).hold)
    for (surveyed& s : of) s.packets = 0;
  return of;
}

}  // namespace cke::cuda

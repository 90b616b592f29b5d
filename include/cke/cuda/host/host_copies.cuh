// SPDX-License-Identifier: MIT
// host_copies.cuh: emulates asynchronous copies; their destination is poison until device code waits for them.
#pragma once

#include "host_run.cuh"

namespace cke::host_run {

inline void send(const shared<std::byte>& to, u32 at, const std::byte* from, u32 bytes, const machine::strand* by,
                 u32 sign) {
  machine& m = *machine::running;
  auto& block = *m.now().of;
  if (!fits(at, bytes, to.count)) fault("shared memory", concat({"a place below ", to.count}), concat({at}));
  const u32 offset = to.offset + at;
  if ((offset | bytes | reinterpret_cast<std::uintptr_t>(from)) % 16 != 0) fault("a copy", "multiples of 16 bytes");
  const auto [part, from_offset] = m.find(from, bytes);
  part->known.read(from_offset, bytes, m.who(), m.seen());
  block.known.write(offset, bytes, m.who(), m.seen());  // faults if another thread may still read the old bytes
  std::memset(block.memory.data() + offset, 0xff, bytes);
  block.known.fill(offset, bytes, false);
  block.sent_from[offset] = from;
  block.flights.push_back({offset, bytes, from, by, sign});
}
// Completes a copy: its bytes arrive.
inline void land(const machine::flight& f) {
  machine& m = *machine::running;
  auto& block = *m.now().of;
  if (m.goes_wrong(&faults::late_copy)) return;
  const u32 bytes = m.goes_wrong(&faults::torn_copy) ? f.bytes / 2 : f.bytes;
  std::memcpy(block.memory.data() + f.to, f.from, bytes);
  if (f.by) block.known.write(f.to, bytes, m.who(), m.seen());  // other lanes must synchronise with the thread first
  else block.known.fill(f.to, bytes, true);
}
template <class Which> void land_all(Which&& which) {
  auto& flights = machine::running->now().of->flights;
  for (const machine::flight& f : flights)
    if (which(f)) land(f);
  std::erase_if(flights, which);
}

inline void came_from(const shared<std::byte>& to, u32 at, const std::byte* from) {
  const auto& all = machine::running->now().of->sent_from;
  const auto it = all.find(to.offset + at);
  if (it == all.end() || it->second != from) fault("a copy", "the one that is taken next", "another");
}

// ---- cp.async: a thread's copies, in groups

inline void copy_quad(const shared<std::byte>& to, u32 at, const std::byte* from) {
  const machine::strand& me = machine::running->now();
  send(to, at, from, 16, &me, me.groups);
}
inline void commit_copies() { ++machine::running->now().groups; }
// Waits for all but the last N groups.
template <u32 N> void await_copies() {
  const machine::strand& me = machine::running->now();
  land_all([&](const machine::flight& f) { return f.by == &me && f.sign + N < me.groups; });
}

// ---- bulk copies, which complete on an mbarrier

inline machine::arrivals& arrivals_at(const shared<u64>& at, u32 i) {
  static_cast<void>(u64{at[i]});  // faults unless it was initialised before the last barrier
  return machine::running->now().of->arriving[at.offset + i * 8];
}
inline void begin_arrivals(const shared<u64>& at, u32 i) {
  at[i] = u64{1};
  machine::running->now().of->arriving[at.offset + i * 8] = {};
}
inline void expect(const shared<u64>& at, u32 i, u32 bytes) {
  auto& a = arrivals_at(at, i);
  if (a.expected != 0) fault("a copy", "a wait for what was expected before");
  a.expected = bytes;
}
inline void copy_bulk(const shared<std::byte>& to, u32 place, const std::byte* from, u32 bytes, const shared<u64>& at,
                      u32 i) {
  send(to, place, from, bytes, nullptr, at.offset + i * 8);
}
// Whether the phase of this parity has completed. If copies are in flight, it completes after a finite number of calls.
inline bool arrived(const shared<u64>& at, u32 i, u32 parity) {
  machine& m = *machine::running;
  auto& a = arrivals_at(at, i);
  if (a.phase % 2 != parity) return true;
  const auto here = [&](const machine::flight& f) { return !f.by && f.sign == at.offset + i * 8; };
  u32 bytes = 0;
  for (const machine::flight& f : m.now().of->flights) bytes += here(f) ? f.bytes : 0;
  if (bytes != a.expected) fault("a copy", concat({a.expected, " bytes that are expected"}), concat({bytes}));
  if (++a.asked > 100'000) fault("a copy", "one that comes");
  if (bytes == 0 || m.draw(2) == 0) return false;
  land_all(here);
  ++a.phase, a.expected = a.asked = 0;
  return true;
}

}  // namespace cke::host_run

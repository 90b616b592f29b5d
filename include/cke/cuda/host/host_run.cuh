// SPDX-License-Identifier: MIT
// host_run.cuh: the interface of dev.cuh on the emulated machine; every memory access is checked.
// (Functions that are called everywhere are not inlined, which halves the time to compile kernels.)
#pragma once

#include "machine.cuh"

namespace cke::host_run {

inline place_in_grid block() { return machine::running->now().of->at; }
inline u32 thread() { return machine::running->now().thread; }
inline void sync() {
  machine& m = *machine::running;
  m.meet(m.now().of->all, m.now().of->threads, machine::reason::barrier);
}
inline void sync_warp() {
  machine::running->meet(machine::running->now().warp(), machine::lanes, machine::reason::warp_barrier);
}
inline void sync_cluster() { machine::running->meet_cluster(); }

// Returns the x of each lane of the warp; all lanes must call it.
template <class T> [[gnu::noinline]] std::array<T, 32> of_all_lanes(const T& x) {
  static_assert(sizeof(T) <= 64 && std::is_trivially_copyable_v<T>);
  auto& warp = machine::running->now().warp();
  auto& said = warp.said[warp.turn % 2];
  std::memcpy(said[thread() % 32], &x, sizeof x);
  machine::running->meet(warp, machine::lanes, machine::reason::shuffle);
  std::array<T, 32> all;
  for (u32 i = 0; i < 32; ++i) std::memcpy(&all[i], said[i], sizeof x);
  return all;
}
template <class T> T of_lane(const T& x, u32 lane) { return of_all_lanes(x)[lane % 32]; }

template <class T> [[gnu::noinline]] T load(const T* p) {
  machine& m = *machine::running;
  if (reinterpret_cast<std::uintptr_t>(p) % alignof(T) != 0) fault("a load", "an aligned address");
  const auto [part, offset] = m.find(p, sizeof(T));
  part->known.read(offset, sizeof(T), m.who(), m.seen());
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
template <class T> [[gnu::noinline]] void store(T* p, T x) {
  machine& m = *machine::running;
  if (reinterpret_cast<std::uintptr_t>(p) % alignof(T) != 0) fault("a store", "an aligned address");
  const auto [part, offset] = m.find(p, sizeof(T));
  part->known.write(offset, sizeof(T), m.who(), m.seen());
  std::memcpy(p, &x, sizeof x);
  m.now().of->stored = {part, offset}, m.now().of->stored_bytes = sizeof x;
}

// Reads nothing, but faults unless p is in an allocation.
inline void prefetch(const std::byte* p) { machine::running->find(p, 1); }

// ---- communication between blocks

inline void add_release(u32* p, u32 x) {
  machine& m = *machine::running;
  if (m.goes_wrong(&faults::lose_add)) return;
  if (m.goes_wrong(&faults::tear))
    m.now().of->stored.part->known.fill(m.now().of->stored.offset, m.now().of->stored_bytes, false);
  m.say(p);
  *m.sync_word(p) += x;
}
inline void store_release(u32* p, u32 x) {
  machine& m = *machine::running;
  m.say(p);
  *m.sync_word(p) = x;
}
inline u32 load_acquire(const u32* p) {
  machine& m = *machine::running;
  const u32 x = *m.sync_word(p);
  m.hear(m.now().of->heard, m.said(p));
  if (x > 0 && m.goes_wrong(&faults::hear_too_soon)) return x + static_cast<u32>(m.now().of->heard.size());
  return x;
}
struct alignas(8) packet {
  u32 word, epoch;
};
inline void send(packet* to, packet x) {
  machine& m = *machine::running;
  if (m.goes_wrong(&faults::lose_packet)) return;
  packet* const at = m.sync_word(to);
  *at = {m.goes_wrong(&faults::tear_packet) ? at->word : x.word, x.epoch};
}
struct alignas(16) two_packets {
  packet first, second;
};
inline two_packets hear(const packet* from) {
  machine& m = *machine::running;
  if (reinterpret_cast<std::uintptr_t>(from) % alignof(two_packets) != 0) fault("two packets", "an aligned address");
  return {*m.sync_word(from), *m.sync_word(from + 1)};
}
// Lets other threads run first.
inline void pause() { machine::running->step_aside(); }
// Advances by a microsecond whenever the scheduler resumes a thread.
inline u64 nanoseconds() { return machine::running->resumed() * 1000; }
inline u64 clock() { return machine::running->resumed(); }

template <class T> [[gnu::noinline]] T read_shared(u64 at) {
  machine& m = *machine::running;
  auto& block = *m.now().of;
  block.known.read(at, sizeof(T), m.who(), m.seen());
  T x;
  std::memcpy(&x, block.memory.data() + at, sizeof x);
  return x;
}
template <class T> [[gnu::noinline]] void write_shared(u64 at, T x) {
  machine& m = *machine::running;
  auto& block = *m.now().of;
  block.known.write(at, sizeof(T), m.who(), m.seen());
  std::memcpy(block.memory.data() + at, &x, sizeof x);
}
// A range of shared memory. Converting an element to a number is a read, assigning to it is a write.
template <class T> struct shared {
  u32 offset, count;

  struct element {
    u64 at;
    operator T() const { return read_shared<T>(at); }
    element operator=(T x) const {
      write_shared(at, x);
      return *this;
    }
  };
  element operator[](u32 i) const {
    if (i >= count) fault("shared memory", concat({"an index below ", count}), concat({i}));
    return {offset + u64{i} * sizeof(T)};
  }
};
// The host address of a T among the bytes.
template <class T> u64 place_of(const shared<std::byte>& in, u32 at) {
  if (!fits(at, sizeof(T), in.count)) fault("shared memory", concat({"a place below ", in.count}), concat({at}));
  if ((in.offset + at) % alignof(T) != 0) fault("shared memory", "an aligned address");
  return in.offset + u64{at};
}
template <class T> T get(const shared<std::byte>& from, u32 at) { return read_shared<T>(place_of<T>(from, at)); }
template <class T> void put(const shared<std::byte>& to, u32 at, T x) { write_shared(place_of<T>(to, at), x); }
template <class T> shared<T> part_of(const shared<T>& all, u32 first, u32 count) {
  if (!fits(first, count, all.count))
    fault("shared memory", concat({"a part of ", all.count}), concat({first, " and ", count, " more"}));
  return {all.offset + first * u32{sizeof(T)}, count};
}
template <class T> shared<T> as(const shared<std::byte>& all) {
  if (all.offset % alignof(T) != 0) fault("shared memory", "an aligned address");
  return {all.offset, all.count / u32{sizeof(T)}};
}
class shared_memory {
 public:
  explicit shared_memory(u32 from = 0) : used_(from) {}
  template <class T> shared<T> take(u32 count) {
    const u32 at = used_;
    used_ += static_cast<u32>(align_up(u64{count} * sizeof(T), 16));
    if (used_ > machine::running->now().of->memory.size())
      fault("shared memory", concat({"at most ", machine::running->now().of->memory.size(), " bytes"}),
            concat({used_}));
    return {at, count};
  }

 private:
  u32 used_;
};

}  // namespace cke::host_run

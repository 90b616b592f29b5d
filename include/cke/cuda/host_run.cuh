// SPDX-License-Identifier: MIT
// host_run.cuh: device code on the host. Each of its threads is a fiber, a seeded scheduler picks who goes on,
// and every access to memory is checked.
#pragma once

#include <array>
#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <exception>
#include <map>
#include <memory>
#include <vector>

#include "shadow.cuh"

namespace cke::host_run {

// What goes wrong on purpose: the n-th time that something happens, counted from 1. 0: never.
struct faults {
  u64 lose_add = 0;      // a block says that it has come, and nobody hears it
  u64 hear_too_soon = 0;  // a block hears that all have come, and they have not
};

struct grid {
  u32 x = 1, y = 1, z = 1;
};
struct place_in_grid {
  u32 x, y, z;
};

// A GPU: memory, and launches one after the other.
class machine {
 public:
  explicit machine(u64 seed, const faults& wrong = {}) : random_(seed * 2 + 1), wrong_(wrong) {}
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;

  // ---- memory, as the host sees it

  std::byte* allocate(u64 bytes) {
    auto part = std::make_unique<std::byte[]>(bytes);
    std::memset(part.get(), 0xff, bytes);  // NaN
    std::byte* const at = part.get();
    parts_.emplace(at, allocation{std::move(part), bytes, shadow(bytes)});
    return at;
  }
  void free(std::byte* p) noexcept { last_ = nullptr, parts_.erase(p); }
  void write(std::byte* to, const void* from, u64 bytes) {
    if (bytes == 0) return;
    std::memcpy(to, from, bytes);
    const auto [part, offset] = find(to, bytes);
    part->known.fill(offset, bytes, true);
  }
  void read(void* to, const std::byte* from, u64 bytes) {
    if (bytes == 0) return;
    const auto [part, offset] = find(from, bytes);
    part->known.read(offset, bytes, {}, {});
    std::memcpy(to, from, bytes);
  }
  void copy(std::byte* to, const std::byte* from, u64 bytes) {
    const auto [target, to_offset] = find(to, bytes);
    const auto [source, from_offset] = find(from, bytes);
    std::memcpy(to, from, bytes);
    target->known.copy(to_offset, source->known, from_offset, bytes);
  }

  // ---- launches

  // body() in every thread of every block. Throws what device code did wrong.
  template <class F> void launch(grid g, u32 threads, u32 shared_bytes, F body) {
    launch(g, threads, shared_bytes, few, body, nothing);
  }
  // All blocks live at once, and may wait for one another. The host does `meanwhile` now and then.
  template <class F, class G> void launch_together(u32 blocks, u32 threads, u32 shared_bytes, F body, G meanwhile) {
    launch({blocks}, threads, shared_bytes, blocks, body, meanwhile);
  }

 private:
  static constexpr auto nothing = [] {};
  template <class F, class G> void launch(grid g, u32 threads, u32 shared_bytes, u32 together, F& body, G& meanwhile) {
    ++launch_;
    said_.clear();
    std::vector<u32> order(g.x * g.y * g.z);
    for (u32 i = 0; i < order.size(); ++i) {  // blocks begin in any order
      order[i] = i;
      std::swap(order[i], order[draw(i + 1)]);
    }
    for (std::size_t first = 0; first < order.size(); first += together) {
      std::vector<std::unique_ptr<resident>> blocks;
      for (std::size_t i = first; i < order.size() && i < first + together; ++i)
        blocks.push_back(std::make_unique<resident>(order[i], place_in_grid{order[i] % g.x, order[i] / g.x % g.y, order[i] / (g.x * g.y)},
                                                    threads, shared_bytes, together == order.size() ? together : 0));
      run(blocks, body, meanwhile);
    }
  }

  template <class> friend struct shared;
  friend class shared_memory;
  template <class T> friend T load(const T*);
  template <class T> friend void store(T*, T);
  template <class T> friend std::array<T, 32> of_all_lanes(const T&);
  friend place_in_grid block();
  friend u32 thread();
  friend void sync();
  friend void sync_warp();
  friend void prefetch(const std::byte*);
  friend void add_release(u32*, u32);
  friend void store_release(u32*, u32);
  friend u32 load_acquire(const u32*);
  friend void pause();
  friend u64 nanoseconds();

  static constexpr u32 few = 3;  // blocks that are on the machine at once, where they need not be
  static constexpr u32 lanes = 32;
  using fiber = boost::context::fiber;

  struct allocation {
    std::unique_ptr<std::byte[]> memory;
    u64 bytes;
    shadow known;
  };
  struct strand;
  enum class reason : u8 { barrier, warp_barrier, shuffle };
  // Those that wait for one another. Who only says something orders no memory: that begins no interval.
  struct meeting {
    std::vector<strand*> here;
    u32 turn = 0, interval = 1;
    reason why{};
  };
  struct warp_state : meeting {
    alignas(16) std::byte said[2][lanes][64];  // what lanes say, in turns
  };
  struct resident {
    u32 number;
    place_in_grid at;
    u32 threads;
    std::vector<std::byte> memory;
    shadow known;
    meeting all{};
    std::vector<warp_state> warps;
    std::vector<u32> seen, heard;  // of each block: heard by a thread, and by all of them after the next barrier

    resident(u32 n, place_in_grid p, u32 t, u32 shared_bytes, u32 others)
        : number(n), at(p), threads(t), memory(shared_bytes, std::byte{0xff}), known(shared_bytes), warps(t / lanes), seen(others), heard(others) {}
  };
  struct strand {
    resident* of;
    u32 thread;
    fiber code, scheduler{};
    warp_state& warp() const { return of->warps[thread / lanes]; }
  };

  // splitmix64
  u32 draw(std::size_t below) {
    u64 z = random_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u, z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return static_cast<u32>((z ^ z >> 31) % below);
  }

  template <class F, class G> void run(std::vector<std::unique_ptr<resident>>& blocks, F& body, G& meanwhile) {
    std::exception_ptr failure;
    std::vector<std::unique_ptr<strand>> strands;
    ready_.clear();
    for (const auto& b : blocks)
      for (u32 t = 0; t < b->threads; ++t) {
        strand& s = *strands.emplace_back(std::make_unique<strand>(strand{b.get(), t, {}}));
        s.code = fiber(std::allocator_arg, stacks_, [&](fiber&& from) {
          s.scheduler = std::move(from);
          try {
            body();
          } catch (const boost::context::detail::forced_unwind&) {
            throw;
          } catch (...) {
            failure = std::current_exception();
          }
          return std::move(s.scheduler);
        });
        ready_.push_back(&s);
      }
    machine* const outer = std::exchange(running, this);
    std::size_t left = strands.size();
    while (!ready_.empty() && !failure) {
      std::swap(ready_[draw(ready_.size())], ready_.back());
      now_ = ready_.back();
      ready_.pop_back();
      now_->code = std::move(now_->code).resume();
      left -= !now_->code, ++resumed_;
      if (resumed_ % 1024 == 0) meanwhile();
    }
    strands.clear();
    running = outer;
    if (failure) std::rethrow_exception(failure);
    if (left > 0) fault("a barrier", "all threads", concat({left, " that wait for others"}));
  }

  // The strand that runs waits until `expected` have come.
  void meet(meeting& m, u32 expected, reason why) {
    if (!m.here.empty() && m.why != why) fault("a warp", "lanes at one barrier or shuffle", "some elsewhere");
    m.why = why;
    m.here.push_back(now_);
    if (m.here.size() < expected) {
      strand& me = *now_;
      me.scheduler = std::move(me.scheduler).resume();
      return;
    }
    ++m.turn, m.interval += why != reason::shuffle;
    if (why == reason::barrier) now_->of->seen = now_->of->heard;
    for (strand* s : m.here)
      if (s != now_) ready_.push_back(s);
    m.here.clear();
  }
  mark who() const {
    const strand& s = *now_;
    return {launch_, s.of->number, s.of->all.interval, s.thread / lanes, s.warp().interval, s.thread % lanes};
  }

  std::span<const u32> seen() const { return now_->of->seen; }
  static void hear(std::vector<u32>& all, const std::vector<u32>& more) {
    all.resize(std::max(all.size(), more.size()));
    for (std::size_t i = 0; i < more.size(); ++i) all[i] = std::max(all[i], more[i]);
  }
  // The thread that runs says to whom reads p what its block has seen, and what the block did up to its last barrier.
  void say(const u32* p) {
    const resident& block = *now_->of;
    auto& all = said_[p];
    hear(all, block.heard);
    if (block.number < all.size()) all[block.number] = std::max(all[block.number], block.all.interval);
  }
  // A word that blocks share on purpose: no race is looked for, but it must have been written.
  u32* sync_word(const u32* p) {
    const auto [part, offset] = find(p, sizeof *p);
    part->known.read(offset, sizeof *p, {}, {});
    return reinterpret_cast<u32*>(part->memory.get() + offset);
  }

  struct found {
    allocation* part;
    u64 offset;
  };
  found find(const void* p, u64 bytes) {
    const auto* const at = static_cast<const std::byte*>(p);
    if (!last_ || at < last_->memory.get() || at >= last_->memory.get() + last_->bytes) {
      auto next = parts_.upper_bound(at);
      if (next == parts_.begin()) fault("an access", "memory of the device");
      last_ = &(--next)->second;
    }
    const u64 offset = static_cast<u64>(at - last_->memory.get());
    if (!fits(offset, bytes, last_->bytes)) fault("an access", "memory of the device");
    return {last_, offset};
  }

  static inline thread_local machine* running = nullptr;

  u64 random_;
  faults wrong_;
  u64 adds_{}, heard_{}, resumed_{};
  u32 launch_{};
  std::map<const u32*, std::vector<u32>> said_;
  strand* now_{};
  std::vector<strand*> ready_;
  std::map<const std::byte*, allocation> parts_;
  allocation* last_{};
  boost::context::pooled_fixedsize_stack stacks_{64 * 1024};
};

// ---- what device code calls ----------------------------------------------------------------------

inline place_in_grid block() { return machine::running->now_->of->at; }
inline u32 thread() { return machine::running->now_->thread; }
inline void sync() {
  machine& m = *machine::running;
  m.meet(m.now_->of->all, m.now_->of->threads, machine::reason::barrier);
}
inline void sync_warp() { machine::running->meet(machine::running->now_->warp(), machine::lanes, machine::reason::warp_barrier); }

// What each lane of the warp says. All of them say something.
template <class T> std::array<T, 32> of_all_lanes(const T& x) {
  static_assert(sizeof(T) <= 64 && std::is_trivially_copyable_v<T>);
  auto& warp = machine::running->now_->warp();
  auto& said = warp.said[warp.turn % 2];
  std::memcpy(said[thread() % 32], &x, sizeof x);
  machine::running->meet(warp, machine::lanes, machine::reason::shuffle);
  std::array<T, 32> all;
  for (u32 i = 0; i < 32; ++i) std::memcpy(&all[i], said[i], sizeof x);
  return all;
}
template <class T> T of_lane(const T& x, u32 lane) { return of_all_lanes(x)[lane % 32]; }

template <class T> T load(const T* p) {
  machine& m = *machine::running;
  if (reinterpret_cast<std::uintptr_t>(p) % alignof(T) != 0) fault("a load", "an aligned address");
  const auto [part, offset] = m.find(p, sizeof(T));
  part->known.read(offset, sizeof(T), m.who(), m.seen());
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
template <class T> void store(T* p, T x) {
  machine& m = *machine::running;
  if (reinterpret_cast<std::uintptr_t>(p) % alignof(T) != 0) fault("a store", "an aligned address");
  const auto [part, offset] = m.find(p, sizeof(T));
  part->known.write(offset, sizeof(T), m.who(), m.seen());
  std::memcpy(p, &x, sizeof x);
}

// Nothing is read, but it must be there.
inline void prefetch(const std::byte* p) { machine::running->find(p, 1); }

// ---- what blocks say to one another

inline void add_release(u32* p, u32 x) {
  machine& m = *machine::running;
  if (++m.adds_ == m.wrong_.lose_add) return;
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
  m.hear(m.now_->of->heard, m.said_[p]);
  if (x > 0 && ++m.heard_ == m.wrong_.hear_too_soon) return x + static_cast<u32>(m.now_->of->heard.size());
  return x;
}
// Others go on first.
inline void pause() {
  machine::strand& me = *machine::running->now_;
  machine::running->ready_.push_back(&me);
  me.scheduler = std::move(me.scheduler).resume();
}
// A microsecond for each time that a thread went on.
inline u64 nanoseconds() { return machine::running->resumed_ * 1000; }

// A part of the block's memory; an element is read when it is used as a number, and written when it is assigned to.
template <class T> struct shared {
  u32 offset, count;

  struct element {
    u64 at;
    operator T() const {
      machine& m = *machine::running;
      auto& block = *m.now_->of;
      block.known.read(at, sizeof(T), m.who(), m.seen());
      T x;
      std::memcpy(&x, block.memory.data() + at, sizeof x);
      return x;
    }
    element operator=(T x) const {
      machine& m = *machine::running;
      auto& block = *m.now_->of;
      block.known.write(at, sizeof(T), m.who(), m.seen());
      std::memcpy(block.memory.data() + at, &x, sizeof x);
      return *this;
    }
  };
  element operator[](u32 i) const {
    if (i >= count) fault("shared memory", concat({"an index below ", count}), concat({i}));
    return {offset + u64{i} * sizeof(T)};
  }
};
class shared_memory {
 public:
  explicit shared_memory(u32 from = 0) : used_(from) {}
  template <class T> shared<T> take(u32 count) {
    const u32 at = used_;
    used_ += static_cast<u32>(align_up(u64{count} * sizeof(T), 16));
    if (used_ > machine::running->now_->of->memory.size()) fault("shared memory", concat({"at most ", machine::running->now_->of->memory.size(), " bytes"}), concat({used_}));
    return {at, count};
  }

 private:
  u32 used_;
};

}  // namespace cke::host_run

// SPDX-License-Identifier: MIT
// machine.cuh: emulates a GPU on the host: each device thread is a fiber, resumed by a seeded scheduler.
#pragma once

#include <array>
#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <exception>

#include "checked_memory.cuh"

namespace cke::host_run {

// Injected faults: the n-th occurrence of an event goes wrong, counted from 1. 0: never.
struct faults {
  u64 lose_add = 0;       // a block's arrival at a barrier is lost
  u64 hear_too_soon = 0;  // a block leaves a barrier before all have arrived
  u64 tear = 0;           // a block arrives at a barrier before its last store is visible
  u64 late_copy = 0;      // an asynchronous copy completes without its bytes
  u64 torn_copy = 0;      // an asynchronous copy completes with only the first half of its bytes
  u64 lose_packet = 0;    // a packet is lost
  u64 tear_packet = 0;    // a packet arrives with its number but without its word
  u64 leave_cluster = 0;  // a block leaves a cluster barrier without seeing the others' writes
};

struct grid {
  u32 x = 1, y = 1, z = 1;
};
struct place_in_grid {
  u32 x, y, z;
};

// A GPU: memory, and launches that run one after the other.
class machine : public checked_memory {
 public:
  explicit machine(u64 seed, const faults& wrong = {}) : random_(seed * 2 + 1), wrong_(wrong) {}
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;

  // Runs body() in every thread of every block. Throws a fault if device code is wrong.
  template <class F> void launch(grid g, u32 threads, u32 shared_bytes, F body) {
    launch(g, threads, shared_bytes, few, 0, body, nothing);
  }
  // A cooperative launch: all blocks are resident and may wait for one another; neighbours form clusters. The host
  // calls `meanwhile` now and then; if that throws, the host leaves a launch that goes on, which is a fault.
  template <class F, class G> void launch_together(u32 blocks, u32 threads, u32 shared_bytes, F body, G meanwhile,
                                                   u32 cluster = 1) {
    if (blocks % cluster != 0)
      fault("a launch", concat({"clusters of ", cluster, " blocks"}), concat({blocks, " blocks"}));
    launch({blocks}, threads, shared_bytes, blocks, cluster, body, meanwhile);
  }

  // ---- the machine's interface to host_run.cuh

  static constexpr u32 lanes = 32;
  using fiber = boost::context::fiber;

  struct strand;
  struct resident;
  enum class reason : u8 { barrier, warp_barrier, shuffle, cluster };
  // The threads that have reached a barrier or shuffle. A shuffle orders no memory, so it starts no new interval.
  struct meeting {
    std::vector<strand*> here;
    u32 turn = 0, interval = 1;
    reason why{};
  };
  struct warp_state : meeting {
    alignas(16) std::byte said[2][lanes][64];  // shuffle operands, double-buffered
  };
  // The barrier of one cluster; threads that have exited do not count.
  struct cluster_state : meeting {
    std::vector<resident*> blocks;
    u32 threads = 0;
  };
  // An asynchronous copy in flight: of one thread, in one of its groups; or one that completes on an mbarrier.
  struct flight {
    u32 to, bytes;
    const std::byte* from;
    const strand* by;  // null: completes on an mbarrier
    u32 sign;          // the copy group, or the mbarrier's offset
  };
  // An mbarrier. A wait for a phase is a wait for all bytes expected in it.
  struct arrivals {
    u32 phase = 0, expected = 0, asked = 0;  // expected: bytes; asked: failed polls
  };
  struct resident {
    u32 number;
    place_in_grid at;
    u32 threads;
    std::vector<std::byte> memory;
    shadow known;
    meeting all{};
    cluster_state* cluster{};
    std::vector<warp_state> warps;
    std::vector<u32> seen, heard;  // per block: intervals seen by all threads; by some (by all after a barrier)
    std::vector<flight> flights{};
    std::map<u32, const std::byte*> sent_from{};
    std::map<u32, arrivals> arriving{};
    found stored{};  // the last store, and its size
    u64 stored_bytes{};

    resident(u32 n, place_in_grid p, u32 t, u32 shared_bytes, u32 others)
        : number(n),
          at(p),
          threads(t),
          memory(shared_bytes, std::byte{0xff}),
          known(shared_bytes),
          warps(t / lanes),
          seen(others),
          heard(others) {}
  };
  struct strand {
    resident* of;
    u32 thread;
    fiber code, scheduler{};
    u32 groups = 0;  // copy groups committed
    warp_state& warp() const { return of->warps[thread / lanes]; }
  };

  // Blocks the current thread until `expected` threads have arrived.
  void meet(meeting& m, u32 expected, reason why) {
    if (!m.here.empty() && m.why != why) fault("a warp", "lanes at one barrier or shuffle", "some elsewhere");
    m.why = why;
    m.here.push_back(now_);
    if (m.here.size() < expected) {
      strand& me = *now_;
      me.scheduler = std::move(me.scheduler).resume();
      return;
    }
    if (why == reason::cluster) hear_cluster(*now_->of->cluster);
    if (why == reason::barrier) now_->of->seen = now_->of->heard;
    release(m, why);
  }
  void meet_cluster() {
    if (!now_->of->cluster) fault("a wait of a cluster", "a launch that has them");
    meet(*now_->of->cluster, now_->of->cluster->threads, reason::cluster);
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
  // A release on word p: publishes what the thread's block has seen, and what the block did up to its last barrier.
  void say(const u32* p) {
    const resident& block = *now_->of;
    auto& all = said_[p];
    hear(all, block.heard);
    if (block.number < all.size()) all[block.number] = std::max(all[block.number], block.all.interval);
  }
  // A word that synchronises blocks: exempt from the race check, but it must have been written.
  template <class T> T* sync_word(const T* p) {
    const auto [part, offset] = find(p, sizeof *p);
    part->known.read(offset, sizeof *p, {}, {});
    return reinterpret_cast<T*>(part->memory.get() + offset);
  }
  const std::vector<u32>& said(const u32* p) { return said_[p]; }

  strand& now() const { return *now_; }
  // Lets other threads run first.
  void step_aside() {
    strand& me = *now_;
    ready_.push_back(&me);
    me.scheduler = std::move(me.scheduler).resume();
  }
  u64 resumed() const { return resumed_; }  // times that the scheduler resumed a thread
  // splitmix64
  u32 draw(std::size_t below) {
    u64 z = random_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u, z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return static_cast<u32>((z ^ z >> 31) % below);
  }
  // Counts an event; true if it is the one to go wrong.
  bool goes_wrong(u64 faults::* which) { return ++(count_.*which) == wrong_.*which; }

  static inline thread_local machine* running = nullptr;

 private:
  // Resumes all threads of the meeting.
  void release(meeting& m, reason why) {
    ++m.turn, m.interval += why != reason::shuffle;
    for (strand* s : m.here)
      if (s != now_) ready_.push_back(s);
    m.here.clear();
  }
  // Each block of a cluster sees what the others have seen and done.
  void hear_cluster(cluster_state& c) {
    std::vector<u32> all;
    for (resident* b : c.blocks) {
      hear(all, b->heard);
      all[b->number] = ++b->all.interval;
    }
    for (resident* b : c.blocks) {
      if (!goes_wrong(&faults::leave_cluster)) b->heard = all;
      b->seen = b->heard;
    }
  }
  // The current thread has exited, so its cluster's barrier no longer waits for it.
  void leave_cluster(const strand& s) {
    cluster_state* const c = s.of->cluster;
    if (!c || --c->threads == 0 || c->here.size() < c->threads) return;
    hear_cluster(*c);
    release(*c, reason::cluster);
  }

  static constexpr u32 few = 3;  // blocks that are resident at once in an ordinary launch
  static constexpr auto nothing = [] {};
  template <class F, class G> void launch(grid g, u32 threads, u32 shared_bytes, u32 together, u32 cluster, F& body,
                                          G& meanwhile) {
    ++launch_;
    said_.clear();
    std::vector<u32> order(g.x * g.y * g.z);
    for (u32 i = 0; i < order.size(); ++i) {  // shuffled: blocks may start in any order
      order[i] = i;
      std::swap(order[i], order[draw(i + 1)]);
    }
    for (std::size_t first = 0; first < order.size(); first += together) {
      std::vector<std::unique_ptr<resident>> blocks;
      for (std::size_t i = first; i < order.size() && i < first + together; ++i)
        blocks.push_back(std::make_unique<resident>(
            order[i], place_in_grid{order[i] % g.x, order[i] / g.x % g.y, order[i] / (g.x * g.y)}, threads,
            shared_bytes, together == order.size() ? together : 0));
      std::vector<cluster_state> clusters(cluster > 0 ? together / cluster : 0);
      if (cluster > 0)
        for (const auto& b : blocks) {
          cluster_state& c = clusters[b->number / cluster];
          b->cluster = &c, c.blocks.push_back(b.get()), c.threads += threads;
        }
      run(blocks, body, meanwhile);
    }
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
          } catch (const boost::context::detail::forced_unwind&) { throw; } catch (...) {
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
      ++resumed_;
      if (!now_->code) --left, leave_cluster(*now_);
      if (resumed_ % 1024 == 0) try {
          meanwhile();
        } catch (...) { failure = left_alone(); }
    }
    strands.clear();
    running = outer;
    if (failure) std::rethrow_exception(failure);
    if (left > 0) fault("a barrier", "all threads", concat({left, " that wait for others"}));
    for (const auto& b : blocks)
      if (!b->flights.empty()) fault("a copy", "a wait for it before its block ends");
  }

  static std::exception_ptr left_alone() {
    try {
      fault("a launch", "a host that waits for its end", "one that threw");
    } catch (...) { return std::current_exception(); }
  }

  u64 random_;
  faults wrong_, count_{};
  u64 resumed_{};
  u32 launch_{};
  std::map<const u32*, std::vector<u32>> said_;
  strand* now_{};
  std::vector<strand*> ready_;
  boost::context::pooled_fixedsize_stack stacks_{64 * 1024};
};

}  // namespace cke::host_run

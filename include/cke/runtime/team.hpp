// SPDX-License-Identifier: MIT
// team.hpp: a persistent team of threads that runs one function on all of them (SPMD).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "../core/concat.hpp"
#include "../core/error.hpp"
#include "cpu_count.hpp"

namespace cke {

// The floating-point mode of every kernel: round to nearest, no traps, denormals are zero. The same
// on all threads, or the bits of a result would depend on who computed it.
class kernel_float_mode {
 public:
#if defined(__SSE2__)
  kernel_float_mode() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80 | 0x8040); }
  ~kernel_float_mode() { _mm_setcsr(saved_); }

 private:
  u32 saved_;
#else
  kernel_float_mode() = default;
  ~kernel_float_mode() {}

 public:
#endif
  kernel_float_mode(const kernel_float_mode&) = delete;
  kernel_float_mode& operator=(const kernel_float_mode&) = delete;
};

class team {
 public:
  static constexpr u32 max_threads = 1024;

  // Starts threads - 1 workers; the caller of run() is thread 0. Throws config_range,
  // out_of_memory.
  explicit team(u32 threads = default_threads()) {
    if (threads == 0 || threads > max_threads)
      throw Error(errc::config_range, {}, "threads", concat({"1 to ", max_threads}), concat({threads}));
    slots_ = std::vector<slot>(threads);
    patience_ = threads <= affinity_cpus() ? 2000 : 20;
    try {
      for (u32 t = 1; t < threads; ++t) workers_.emplace_back([this, t] { work(t); });
    } catch (const std::exception& e) {
      dismiss();
      throw Error(errc::out_of_memory, {}, "threads", concat({threads}), e.what());
    }
  }
  ~team() { dismiss(); }
  team(const team&) = delete;
  team& operator=(const team&) = delete;

  u32 size() const { return static_cast<u32>(slots_.size()); }

  // Calls body(thread) on every thread, the caller being thread 0, and returns when all are done.
  // Calls from several user threads take turns; a body must not call run() of its own team.
  template <class F> void run(F&& body) {
    static_assert(std::is_nothrow_invocable_v<F&, u32>,
                  "cke: team: the body must be noexcept; nobody could catch on another thread");
    const std::lock_guard turn(busy_);
    const kernel_float_mode mode;
    for (slot& s : slots_) {
      s.round = 0;
      s.claimed.store(0, std::memory_order_relaxed);
    }
    const auto* const address = std::addressof(body);
    body_ = const_cast<void*>(static_cast<const void*>(address));
    call_ = [](void* f, u32 thread) noexcept {
      (*static_cast<std::remove_reference_t<F>*>(f))(thread);
    };
    job_.fetch_add(1, std::memory_order_release);
    job_.notify_all();
    call_(body_, 0);
    barrier();
  }

  // Inside a body: returns when every thread has arrived; what they wrote before is then visible.
  // While waiting, the thread pulls [next, next + bytes) towards its L2: the weights that it will
  // stream after the barrier.
  void barrier(const void* next = nullptr, u64 bytes = 0) {
    if (size() == 1) return;
    const u32 phase = phase_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size()) {
      arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);
      phase_.notify_all();
      return;
    }
    await(phase_, phase, static_cast<const char*>(next), bytes);
  }

  struct range {
    u32 first, last;
  };
  // The contiguous part of `units` that share() gives a thread first.
  range slice(u32 thread, u32 units) const {
    const auto cut = [&](u32 t) { return static_cast<u32>(u64{units} * t / size()); };
    return {cut(thread), cut(thread + 1)};
  }

  // Inside a body, called by every thread with the same units: f(unit) runs once for each unit
  // below `units`. A thread takes its own slice in order, then what the others have not begun, so
  // that a core taken away for a millisecond does not stall the rest. Units must be independent of
  // one another; results must not depend on who computes them. No barrier is implied.
  template <class F> void share(u32 thread, u32 units, F&& f) {
    const u32 round = ++slots_[thread].round;
    for (u32 k = 0; k < size(); ++k) {
      const u32 owner = thread + k < size() ? thread + k : thread + k - size();
      const auto [first, last] = slice(owner, units);
      for (u32 i; (i = claim(slots_[owner].claimed, round, last - first)) < last - first;)
        f(first + i);
    }
  }

 private:
  struct slot {
    // round << 32 | units of the owner's slice begun in that round. A counter still in an older
    // round stands for zero, so nothing has to be reset between rounds and rounds need no barrier.
    alignas(64) std::atomic<u64> claimed{};
    alignas(64) u32 round{};  // the thread's own count of share() calls in this run
  };

  // The next unbegun unit, or count when none is left.
  static u32 claim(std::atomic<u64>& claimed, u32 round, u32 count) {
    u64 seen = claimed.load(std::memory_order_relaxed);
    for (;;) {
      const u32 at = static_cast<u32>(seen >> 32), begun = at == round ? static_cast<u32>(seen) : 0;
      // A newer round: someone found all of this round's units begun and went on.
      if (at > round || begun >= count) return count;
      if (claimed.compare_exchange_weak(seen, u64{round} << 32 | (begun + 1),
                                        std::memory_order_relaxed))
        return begun;
    }
  }

  static void relax() {
#if defined(__SSE2__)
    _mm_pause();
#else
    std::this_thread::yield();
#endif
  }

  // Until word != old: spin, then yield, then sleep. With more threads than cpus the one we wait
  // for may need our cpu, so patience is short there.
  void await(const std::atomic<u32>& word, u32 old, const char* next = nullptr,
             u64 bytes = 0) const {
    const auto changed = [&] { return word.load(std::memory_order_acquire) != old; };
    u64 done = 0;
    for (u32 i = 0; i < patience_; ++i) {
      if (changed()) return;
      if (done < bytes) {
        __builtin_prefetch(next + done, 0, 2);
        done += 64;
      } else {
        relax();
      }
    }
    for (u32 i = 0; i < 64; ++i) {
      if (changed()) return;
      std::this_thread::yield();
    }
    while (!changed()) word.wait(old, std::memory_order_acquire);
  }

  void work(u32 thread) {
    const kernel_float_mode mode;
    for (u32 job = 0;; ++job) {
      await(job_, job);
      if (stop_) return;
      call_(body_, thread);
      barrier();
    }
  }

  void dismiss() {
    stop_ = true;
    job_.fetch_add(1, std::memory_order_release);
    job_.notify_all();
    for (std::thread& w : workers_) w.join();
  }

  std::vector<slot> slots_;
  u32 patience_{};
  std::mutex busy_;
  void* body_{};
  void (*call_)(void*, u32) noexcept {};
  bool stop_{};
  alignas(64) std::atomic<u32> job_{};      // one more for every run
  alignas(64) std::atomic<u32> arrived_{};  // threads at the current barrier
  alignas(64) std::atomic<u32> phase_{};    // one more for every barrier
  std::vector<std::thread> workers_;        // last: they use all of the above
};

}  // namespace cke

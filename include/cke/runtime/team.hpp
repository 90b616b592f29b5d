// SPDX-License-Identifier: MIT
// team.hpp: a persistent team of threads that runs one function on all of them (SPMD).
#pragma once

#include "float_mode.hpp"

#ifdef CKE_ALONE
#include "team_of_one.hpp"
#else
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

#include "../core/concat.hpp"
#include "../core/error.hpp"
#include "../core/hints.hpp"
#include "clock.hpp"
#include "cpu_count.hpp"
#include "float_mode.hpp"
#include "headcount.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// A fork-join team with a work-stealing share(). The first `crew` threads run a body together; the others sleep.
class team {
 public:
  static constexpr u32 max_threads = 1024;

  // Starts threads - 1 workers; the caller of run() is thread 0. Of the hints, those about threads count. Throws
  // config_range, out_of_memory.
  explicit team(u32 threads = default_threads(), const hints& how = {})
      : spins_(how.spins.value_or(*default_hints.spins)),
        claimed_at_once_(how.units_per_claim.value_or(*default_hints.units_per_claim)),
        fits_(how.fewer_threads.value_or(*default_hints.fewer_threads)),
        fitting_(threads) {
    if (threads == 0 || threads > max_threads)
      throw Error(errc::config_range, {}, "threads", concat({"1 to ", max_threads}), concat({threads}));
    slots_ = std::make_unique<slot[]>(threads);
    size_ = crew_ = threads;
    try {
      for (u32 t = 1; t < threads; ++t) slots_[t].worker = std::thread([this, t] { work(t); });
    } catch (const std::exception& e) {
      dismiss();
      throw Error(errc::out_of_memory, {}, "threads", concat({threads}), e.what());
    }
  }
  ~team() { dismiss(); }
  team(const team&) = delete;
  team& operator=(const team&) = delete;

  u32 size() const { return size_; }

  // Calls body(thread) on every thread, the caller being thread 0, and returns when all are done.
  // Calls from several user threads take turns; a body must not call run() of its own team.
  template <class F> void run(F&& body) {
    const std::lock_guard turn(busy_);
    start(body, size());
  }

  // The same on the first threads only, at most `most` and as many as get cpus just now (headcount.hpp): for bodies
  // whose results do not depend on which thread computes what.
  template <class F> void run_fitting(F&& body, u32 most = max_threads) {
    const std::lock_guard turn(busy_);
    if (!fits_) return start(body, std::min(size_, most));
    inspected_ = worked_ >= headcount::window;
    const u64 begin = now_ns();
    start(body, std::min(fitting_.now(), most));
    worked_ += now_ns() - begin;
    if (inspected_) judge();
  }

  // Inside a body: returns when the whole crew has arrived; what they wrote before is then visible.
  void barrier() {
    // Read first: the caller may begin another run once all have arrived.
    const u32 crew = crew_, spins = patience();
    if (crew == 1) return;
    const u32 phase = phase_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == crew) {
      arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);
      phase_.notify_all();
    } else {
      await(phase_, phase, spins);
    }
  }

  // Inside a body: returns when word is no longer `old`. The thread that changes it must notify.
  void wait_while(const std::atomic<u32>& word, u32 old) const { await(word, old, patience()); }

  struct range {
    u32 first, last;
  };
  // The contiguous part of `units` that share() gives a thread first.
  range slice(u32 thread, u32 units) const {
    const auto cut = [&](u32 t) { return static_cast<u32>(u64{units} * t / crew_); };
    return {cut(thread), cut(thread + 1)};
  }

  // Inside a body, called by the whole crew with the same units: f(unit) runs once for each unit
  // below `units`. A thread takes its own slice in order, then steals what the others have not begun, so
  // that a core taken away for a millisecond does not stall the rest. Units must be independent of
  // one another, and results must not depend on which thread computes them. No barrier is implied.
  template <class F> void share(u32 thread, u32 units, F&& f) { share(thread, units, claimed_at_once_, f); }
  // A thread takes so many units at a time.
  template <class F> void share(u32 thread, u32 units, u32 at_once, F&& f) {
    const u32 round = ++slots_[thread].round;
    for (u32 k = 0; k < crew_; ++k) {
      const u32 owner = thread + k < crew_ ? thread + k : thread + k - crew_;
      const auto [first, last] = slice(owner, units);
      for (u32 i; (i = claim(slots_[owner].claimed, round, last - first, at_once)) < last - first;)
        for (u32 end = std::min(i + at_once, last - first); i < end; ++i) f(first + i);
    }
  }

 private:
  struct slot {
    // round << 32 | units of the owner's slice begun in that round. A counter still in an older
    // round stands for zero, so nothing has to be reset between rounds and rounds need no barrier.
    alignas(64) std::atomic<u64> claimed{};
    alignas(64) std::atomic<u32> jobs{};  // one more for every job that the thread has a part in
    u32 round{};                          // the thread's own count of share() calls in this run
    u64 waited{};                         // waited_for_cpu() when it was last inspected
    u64 waited_more{};                    // the increase since the inspection before
    std::thread worker;                   // none for thread 0: the caller of run()
  };

  std::span<slot> slots() { return {slots_.get(), size_}; }

  template <class F> void start(F& body, u32 crew) {
    static_assert(std::is_nothrow_invocable_v<F&, u32>,
                  "cke: team: the body must be noexcept; an exception could not leave another thread");
    const kernel_float_mode mode;
    crew_ = crew;
    for (slot& s : slots()) {
      s.round = 0;
      s.claimed.store(0, std::memory_order_relaxed);
    }
    body_ = const_cast<void*>(static_cast<const void*>(std::addressof(body)));
    call_ = [](void* f, u32 thread) noexcept { (*static_cast<F*>(f))(thread); };
    for (u32 t = 1; t < crew; ++t) {
      slots_[t].jobs.fetch_add(1, std::memory_order_release);
      slots_[t].jobs.notify_one();
    }
    take_part(0);
  }

  void take_part(u32 thread) {
    call_(body_, thread);
    if (inspected_) {
      slot& s = slots_[thread];
      const u64 waited = waited_for_cpu();
      s.waited_more = waited - std::exchange(s.waited, waited);
    }
    barrier();
  }

  void judge() {
    u64 waited = 0;
    const auto before = std::exchange(caller_, std::this_thread::get_id());
    for (u32 t = before != caller_; t < crew_; ++t) waited += slots_[t].waited_more;
    // The first time only sets the start from which waiting counts.
    if (before != std::thread::id{}) fitting_.judge(worked_, waited, crew_);
    worked_ = 0;
    inspected_ = false;
  }

  // The first of the next unbegun units, or count when none is left.
  static u32 claim(std::atomic<u64>& claimed, u32 round, u32 count, u32 at_once) {
    u64 seen = claimed.load(std::memory_order_relaxed);
    for (;;) {
      const u32 at = static_cast<u32>(seen >> 32), begun = at == round ? static_cast<u32>(seen) : 0;
      // A newer round: another thread has found all units of this round begun, and has gone on.
      if (at > round || begun >= count) return count;
      if (claimed.compare_exchange_weak(seen, u64{round} << 32 | (begun + at_once), std::memory_order_relaxed))
        return begun;
    }
  }

  static void relax() {
#if defined(__SSE2__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile(
        "isb");  // `yield` is a no-op on most of these CPUs; this takes some tens of cycles, as x86's pause does
#else
    std::this_thread::yield();
#endif
  }

  // Pauses before a waiting thread goes to sleep. Tens of microseconds cover the skew of threads that have a cpu each;
  // with fewer cpus than threads, the thread waited for may need this one's cpu.
  u32 patience() const { return crew_ <= cpus_ ? spins_ : std::min(spins_, 20u); }

  // Until word != old: spin, then sleep.
  static void await(const std::atomic<u32>& word, u32 old, u32 spins) {
    for (u32 i = 0; i < spins; ++i) {
      if (word.load(std::memory_order_acquire) != old) return;
      relax();
    }
    while (word.load(std::memory_order_acquire) == old) word.wait(old, std::memory_order_acquire);
  }

  void work(u32 thread) {
    const kernel_float_mode mode;
    u32 spins = 0;
    for (u32 job = 0;; ++job) {
      await(slots_[thread].jobs, job, spins);
      if (stop_) return;
      spins = patience();
      take_part(thread);
    }
  }

  void dismiss() {
    stop_ = true;
    for (slot& s : slots()) {
      s.jobs.fetch_add(1, std::memory_order_release);
      s.jobs.notify_one();
    }
    for (slot& s : slots())
      if (s.worker.joinable()) s.worker.join();
  }

  const u32 cpus_ = affinity_cpus(), spins_, claimed_at_once_;
  const bool fits_;
  std::unique_ptr<slot[]> slots_;
  u32 size_{};
  std::mutex busy_;
  headcount fitting_;
  u64 worked_ = headcount::window;  // ns in run_fitting() since the last judgement
  std::thread::id caller_{};        // at the last judgement
  // The current run:
  u32 crew_{};
  bool inspected_{}, stop_{};
  void* body_{};
  void (*call_)(void*, u32) noexcept {};
  alignas(64) std::atomic<u32> arrived_{};  // threads at the current barrier
  alignas(64) std::atomic<u32> phase_{};    // one more for every barrier
};

}  // namespace cke::runtime
CKE_COLD_END
#endif

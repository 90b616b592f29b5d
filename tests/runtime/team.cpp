// SPDX-License-Identifier: MIT
// team.cpp: every unit once, barriers that order, callers that take turns, and a float mode that is
// put back.
#include "cke/runtime/team.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace cke;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

TEST_CASE("team: every thread runs, and every unit of a share is done exactly once") {
  for (u32 threads = 1; threads <= 8; ++threads) {
    CAPTURE(threads);
    team t(threads);
    REQUIRE(t.size() == threads);
    std::vector<std::atomic<u32>> done(600), ran(threads);
    for (u32 round = 0; round < 300; ++round)
      t.run([&](u32 me) noexcept {
        ran[me].fetch_add(1, std::memory_order_relaxed);
        // no barrier between shares: they touch different units
        t.share(me, 500, [&](u32 u) { done[u].fetch_add(1, std::memory_order_relaxed); });
        t.share(me, 3, [&](u32 u) { done[500 + u].fetch_add(1, std::memory_order_relaxed); });
        t.share(me, 0, [&](u32) { done[599].fetch_add(1, std::memory_order_relaxed); });
        t.share(me, 90, [&](u32 u) { done[503 + u].fetch_add(1, std::memory_order_relaxed); });
      });
    for (u32 u = 0; u < 600; ++u) CHECK(done[u] == (u < 593 ? 300 : 0));
    for (const auto& r : ran) CHECK(r == 300);
  }
}

TEST_CASE("team: units that are claimed together, and threads that are left out, do every unit exactly once") {
  for (const u32 at_once : {2u, 7u, 256u})
    for (const bool fits : {false, true}) {
      team t(4, {.units_per_claim = at_once, .spins = 1, .fewer_threads = fits});
      for (const u32 most : {1u, 3u, team::max_threads}) {
        std::vector<std::atomic<u32>> done(500);
        std::atomic<u32> ran{};
        for (u32 round = 0; round < 50; ++round)
          t.run_fitting(
              [&](u32 me) noexcept {
                ran += 1;
                t.share(me, 500, [&](u32 u) { done[u].fetch_add(1, std::memory_order_relaxed); });
                t.barrier();
                t.share(me, 13, [&](u32 u) { done[u].fetch_add(1, std::memory_order_relaxed); });
              },
              most);
        for (u32 u = 0; u < 500; ++u) REQUIRE(done[u] == (u < 13 ? 100 : 50));
        CHECK(ran <= 50 * std::min(most, 4u));
        if (!fits) CHECK(ran == 50 * std::min(most, 4u));
      }
    }
}

TEST_CASE("team: a barrier shows everyone what was written before it") {
  for (const u32 threads : {2u, 3u, 5u}) {
    team t(threads);
    std::vector<u32> value(threads);  // plain: only the barrier orders them
    std::atomic<u32> wrong{};
    t.run([&](u32 me) noexcept {
      for (u32 step = 1; step <= 500; ++step) {
        value[me] = step * 10 + me;
        t.barrier();
        for (u32 other = 0; other < threads; ++other) wrong += value[other] != step * 10 + other;
        t.barrier();
      }
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("team: slices are contiguous, in order, and even") {
  team t(3);
  for (const u32 units : {0u, 1u, 2u, 7u, 1000u, ~0u}) {
    u32 next = 0;
    for (u32 me = 0; me < 3; ++me) {
      const auto [first, last] = t.slice(me, units);
      CHECK(first == next);
      CHECK(last - first <= units / 3 + 1);
      next = last;
    }
    CHECK(next == units);
  }
}

TEST_CASE("team: 10^4 runs on more threads than cpus, from two callers at once, are quick") {
  const auto start = std::chrono::steady_clock::now();
  team t(2 * affinity_cpus() + 1);
  u64 sum = 0;  // plain: runs take turns
  const auto caller = [&] {
    for (u32 i = 0; i < 5000; ++i) {
      std::atomic<u64> part{};
      t.run([&](u32 me) noexcept {
        u64 mine = 0;
        t.share(me, 10, [&](u32 u) { mine += u; });
        t.barrier();
        part += mine;
        if (me == 0) ++sum;
      });
      REQUIRE(part == 45);
    }
  };
  std::thread other(caller);
  caller();
  other.join();
  CHECK(sum == 10000);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  MESSAGE("10^4 runs took ", took.count(), " s");
  CHECK(took.count() < 60);  // a crawl is minutes
}

TEST_CASE("team: with more threads than cpus it soon works with fewer, and still does every unit once") {
  if (waited_for_cpu("/proc/self/schedstat") == 0) return;  // the system does not tell
  const u32 threads = 4 * affinity_cpus() + 1;
  team t(threads);
  u32 crew = threads;
  const auto start = std::chrono::steady_clock::now();
  while (crew > affinity_cpus() && std::chrono::steady_clock::now() - start < std::chrono::seconds(60)) {
    std::vector<std::atomic<u32>> done(100);
    std::atomic<u32> ran{};
    t.run_fitting([&](u32 me) noexcept {
      ran += 1;
      for (u32 round = 0; round < 10; ++round) {
        t.share(me, 100, [&](u32 u) {
          done[u] += 1;
          const auto from = std::chrono::steady_clock::now();
          while (std::chrono::steady_clock::now() - from < std::chrono::microseconds(20)) {}
        });
        t.barrier();
      }
    });
    for (const auto& d : done) REQUIRE(d == 10);
    CHECK(ran <= crew + 1);  // one more at a time is tried
    crew = ran;
  }
  CHECK(crew <= affinity_cpus());
  std::atomic<u32> all{};
  t.run([&](u32) noexcept { all += 1; });
  CHECK(all == threads);
}

TEST_CASE("team: a thread that comes late, or sleeps inside, only delays") {
  team t(3);
  std::atomic<u32> done{};
  for (u32 i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // workers have gone to sleep
    t.run([&](u32 me) noexcept {
      if (me == i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      t.barrier();
      done += 1;
    });
  }
  CHECK(done == 9);
}

TEST_CASE("team: denormals are zero on every thread, and the caller's float mode comes back") {
  volatile float tiny = 1e-30f, tinier = 1e-12f;
  team t(3);
  std::atomic<u32> zeros{};
  t.run([&](u32) noexcept { zeros += tiny * tinier == 0.f; });
  CHECK(zeros == 3);
  CHECK(tiny * tinier != 0.f);
}

TEST_CASE("team: impossible numbers of threads are errors") {
  for (const u32 threads : {0u, team::max_threads + 1, ~0u}) {
    try {
      team t(threads);
      FAIL("no error");
    } catch (const Error& e) {
      CHECK(e.code == errc::config_range);
      CHECK(e.found == std::to_string(threads));
    }
  }
}

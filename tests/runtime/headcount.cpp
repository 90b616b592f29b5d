// SPDX-License-Identifier: MIT
// headcount.cpp: fewer threads where cpus are short, all of them where they are not, and few attempts in between.
#include "cke/runtime/headcount.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

namespace headcount_test {

using namespace cke;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

namespace {

constexpr u64 window = headcount::window;

// Judges `windows` times, with `cpus` cpus for the threads; returns how many windows were worked with too many.
u32 work(headcount& h, u32 windows, u32 cpus) {
  u32 crowded = 0;
  for (u32 i = 0; i < windows; ++i) {
    const u32 short_of = h.now() > cpus ? h.now() - cpus : 0;
    crowded += short_of > 0;
    h.judge(window, short_of * window, h.now());
  }
  return crowded;
}

}  // namespace

TEST_CASE("headcount: enough cpus, all threads, whatever a kernel thread takes of them") {
  headcount h(64);
  for (u32 i = 0; i < 1000; ++i) {
    h.judge(window, window / 3, 64);
    REQUIRE(h.now() == 64);
  }
}

TEST_CASE("headcount: down to the cpus that are there, at once, and hardly ever above") {
  for (const u32 cpus : {1u, 2u, 7u}) {
    headcount h(8);
    h.judge(window, (8 - cpus) * window, 8);
    CHECK(h.now() == cpus);
    CHECK(work(h, 1000, cpus) < 20);
  }
}

TEST_CASE("headcount: of two threads one goes if it waits more than it works, and the last one stays") {
  headcount h(2);
  h.judge(window, window / 2, 2);
  CHECK(h.now() == 2);
  h.judge(window, window / 2 + 1, 2);
  CHECK(h.now() == 1);
  h.judge(window, 50 * window, 1);
  CHECK(h.now() == 1);
}

TEST_CASE("headcount: when the neighbour leaves, all threads come back, and the next one is noticed as fast") {
  headcount h(8);
  work(h, 1000, 2);
  work(h, headcount::longest_pause + 8, 8);
  CHECK(h.now() == 8);
  work(h, 1, 8);
  h.judge(window, window, 8);
  CHECK(h.now() == 7);
  work(h, headcount::shortest_pause + 1, 8);
  CHECK(h.now() == 8);
}

TEST_CASE(
    "headcount: a short disturbance does not cost several long passes, and after a long one more is tried rarely") {
  headcount h(2);
  h.judge(window, window, 2);
  CHECK(h.now() == 1);
  h.judge(2 * window, 0, 1);
  CHECK(h.now() == 1);
  h.judge(20 * window, 0, 1);
  CHECK(h.now() == 2);
  h.judge(20 * window, 20 * window, 2);  // the attempt fails, and costs a long pass
  u32 windows = 0;
  for (; h.now() == 1; ++windows) h.judge(window, 0, 1);
  CHECK(windows == 2 * headcount::shortest_pause * 20);
}

TEST_CASE("headcount: work that wants fewer threads says when they are too many, and never that more would do") {
  headcount h(8);
  for (u32 i = 0; i < 1000; ++i) h.judge(window, 0, 3);
  CHECK(h.now() == 8);
  h.judge(window, window, 3);
  CHECK(h.now() == 2);
  for (u32 i = 0; i < headcount::longest_pause + 8; ++i) h.judge(window, 0, std::min(h.now(), 3u));
  CHECK(h.now() == 4);  // one more than was wanted: nothing has been heard of it
  work(h, headcount::longest_pause + 8, 8);
  CHECK(h.now() == 8);
}

TEST_CASE("headcount: the wait for a cpu is the second number of schedstat") {
  const std::string path = "cke_schedstat.txt";
  const auto told = [&](const char* text) {
    std::ofstream(path) << text;
    return waited_for_cpu(path.c_str());
  };
  CHECK(told("123 4567 89\n") == 4567);
  CHECK(told("123 18446744073709551615 1") == ~u64{});
  CHECK(told("123") == 0);
  CHECK(told("123 x") == 0);
  CHECK(told("") == 0);
  std::remove(path.c_str());
  CHECK(waited_for_cpu("/nowhere") == 0);
}

}  // namespace headcount_test

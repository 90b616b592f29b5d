// SPDX-License-Identifier: MIT
// peaks.cpp: the probe measures something of every kind, on any number of threads.
#include "cke/tune/peaks.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace cke;
using namespace cke::tune;

namespace {

constexpr u64 small = u64{3} << 20;

template <class Isa> machine_peaks measured(u32 threads) {
  machine_probe<Isa> probe(threads, small);
  return probe.measure();
}

}  // namespace

TEST_CASE("peaks: every kind has one, finite and not absurd") {
  for (const u32 threads : {1u, 3u}) {
    const machine_peaks p = measured<isa::native>(threads);
    for (const double x : {p.read_gbs, p.int8_gops, p.bf16_gops, p.f32_gops}) {
      CHECK(std::isfinite(x));
      CHECK(x > 0);
      CHECK(x < 1e6);  // a loop that the compiler threw away
    }
  }
}

TEST_CASE("peaks: a turn of reading has a speed, also where its buffer ends and with more threads than pieces") {
  for (const u32 threads : {1u, 3u, 40u}) {
    machine_probe<isa::native> probe(threads, small);
    for (u32 turn = 0; turn < 3; ++turn) {
      const double gbs = probe.read_turn();
      CHECK(std::isfinite(gbs));
      CHECK(gbs > 0);
      CHECK(gbs < 1e6);
    }
  }
}

TEST_CASE("peaks: the scalar isa has no dots to measure") {
  const machine_peaks p = measured<isa::scalar>(2);
  CHECK(p.read_gbs > 0);
  CHECK(p.int8_gops == 0);
}

TEST_CASE("peaks: refuses what no team or arena is") {
  CHECK_THROWS_AS(machine_probe<isa::native>(0), Error);
  CHECK_THROWS_AS(machine_probe<isa::native>(1, ~u64{} / 2), Error);
}

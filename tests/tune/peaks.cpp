// SPDX-License-Identifier: MIT
// peaks.cpp: the probe measures something of every kind, on any number of threads.
#include "cke/tune/peaks.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace cke;
using namespace cke::tune;

namespace {

template <class Isa> machine_peaks measured(u32 threads) {
  machine_probe<Isa> probe(threads, u64{3} << 20);
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

TEST_CASE("peaks: the scalar isa has no dots to measure") {
  const machine_peaks p = measured<isa::scalar>(2);
  CHECK(p.read_gbs > 0);
  CHECK(p.int8_gops == 0);
}

TEST_CASE("peaks: refuses what no team or arena is") {
  CHECK_THROWS_AS(machine_probe<isa::native>(0), Error);
  CHECK_THROWS_AS(machine_probe<isa::native>(1, ~u64{} / 2), Error);
}

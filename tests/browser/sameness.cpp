// SPDX-License-Identifier: MIT
// sameness.cpp: as much of tests/sameness as one thread can show: chunks and decoding.
#include "../sameness/sameness.hpp"

using namespace cke;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::kernels;
using namespace cke::runtime;
using namespace cke::text;

TEST_CASE("sameness: chunks, decoding") {
  sameness::machine<Q8_0, dtype::q8_0, isa::native>::check_matrix({1}, {7, 512});
}

TEST_CASE("team: one thread, and more are refused by the number") {
  CHECK(default_threads() == 1);
  team alone(1);
  u32 sum = 0;
  alone.run([&](u32 thread) { alone.share(thread, 5, [&](u32 unit) { sum += unit + 1; }); });
  CHECK(sum == 15);
}

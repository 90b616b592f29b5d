// SPDX-License-Identifier: MIT
// sameness.cpp: as much of tests/sameness as an emulator does in seconds.
#include "../sameness/sameness.hpp"

using namespace cke;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::kernels;
using namespace cke::runtime;
using namespace cke::text;

TEST_CASE("sameness: threads, chunks, decoding") {
  sameness::machine<Q8_0, dtype::q8_0, isa::native>::check_matrix({1, 3}, {7, 512});
}

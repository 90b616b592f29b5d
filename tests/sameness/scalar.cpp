// SPDX-License-Identifier: MIT
// scalar.cpp: the scalar kernels agree with themselves as well.
#include "sameness.hpp"

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

TEST_CASE_TEMPLATE("sameness: scalar kernels: threads, chunks, decoding", formats, F32, BF16, Q8_0) {
  sameness::machine<formats, default_kv<formats>, isa::scalar>::check_matrix({2}, {7, 512});
}
TEST_CASE("sameness: scalar kernels: keys and values in q8_0, in runs") {
  sameness::machine<F32, dtype::q8_0, isa::scalar, run_keys + 50>::check_matrix({3}, {512});
}
TEST_CASE("sameness: scalar kernels: many sequences in one pass") {
  sameness::machine<Q8_0, dtype::q8_0, isa::scalar>::check_together(2, 5, 30);
}

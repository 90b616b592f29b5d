// SPDX-License-Identifier: MIT
// q8_0.cpp: weights in q8_0, keys and values in every type.
#include "sameness.hpp"

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

TEST_CASE_TEMPLATE("sameness: q8_0 weights: threads, chunks, decoding", kv, std::integral_constant<dtype, dtype::f32>,
                   std::integral_constant<dtype, dtype::f16>, std::integral_constant<dtype, dtype::bf16>,
                   std::integral_constant<dtype, dtype::q8_0>) {
  sameness::machine<Q8_0, kv::value, isa::native>::check_matrix({1, 2, 3, 4}, {1, 7, 64, 512});
}
TEST_CASE("sameness: q8_0 weights: forks and rewinds") {
  sameness::machine<Q8_0, default_kv<Q8_0>, isa::native>::check_forks();
}
// Decoding cuts a long context into runs of keys, which threads take from each other; prefill does not. From 1,024 rows
// on, products go block by block.
TEST_CASE_TEMPLATE("sameness: runs of keys: threads, chunks, decoding", kv, std::integral_constant<dtype, dtype::bf16>,
                   std::integral_constant<dtype, dtype::q8_0>) {
  sameness::machine<Q8_0, kv::value, isa::native, 2 * run_keys + 150>::check_matrix({1, 2, 3, 5}, {9, 512, 1174});
}
TEST_CASE_TEMPLATE("sameness: many sequences in one pass, runs of keys too", kv,
                   std::integral_constant<dtype, dtype::bf16>, std::integral_constant<dtype, dtype::q8_0>) {
  using machine = sameness::machine<Q8_0, kv::value, isa::native, 2 * run_keys + 150>;
  for (const u32 threads : {1u, 3u}) {
    machine::check_together(threads, 7, 60);
    machine::check_together(threads, 40, 15);
  }
}

// SPDX-License-Identifier: MIT
// f32.cpp: weights in f32, keys and values in every type.
#include "sameness.hpp"

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

TEST_CASE_TEMPLATE("sameness: f32 weights: threads, chunks, decoding", kv, std::integral_constant<dtype, dtype::f32>,
                   std::integral_constant<dtype, dtype::f16>, std::integral_constant<dtype, dtype::bf16>,
                   std::integral_constant<dtype, dtype::q8_0>) {
  sameness::machine<F32, kv::value, isa::native>::check_matrix({1, 2, 3, 4}, {1, 7, 64, 512});
}
TEST_CASE("sameness: f32 weights: forks and rewinds") {
  sameness::machine<F32, default_kv<F32>, isa::native>::check_forks();
}
TEST_CASE("sameness: many sequences of f32 weights in one pass") {
  for (const u32 threads : {1u, 2u, 4u})
    sameness::machine<F32, dtype::f32, isa::native>::check_together(threads, 12, 80);
}

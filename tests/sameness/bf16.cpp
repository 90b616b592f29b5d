// SPDX-License-Identifier: MIT
// bf16.cpp: weights in bf16, keys and values in every type.
#include "sameness.hpp"

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

TEST_CASE_TEMPLATE("sameness: bf16 weights: threads, chunks, decoding", kv, std::integral_constant<dtype, dtype::f32>,
                   std::integral_constant<dtype, dtype::f16>, std::integral_constant<dtype, dtype::bf16>,
                   std::integral_constant<dtype, dtype::q8_0>) {
  sameness::machine<BF16, kv::value, isa::native>::check_matrix({1, 2, 3, 4}, {1, 7, 64, 512});
}
TEST_CASE("sameness: bf16 weights: forks and rewinds") {
  sameness::machine<BF16, default_kv<BF16>, isa::native>::check_forks();
}
TEST_CASE("sameness: many sequences of bf16 weights in one pass") {
  for (const u32 threads : {1u, 2u, 3u, 4u})
    sameness::machine<BF16, dtype::bf16, isa::native>::check_together(threads, 1 + 9 * threads, 60);
}

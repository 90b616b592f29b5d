// SPDX-License-Identifier: MIT
// own_queries.cpp: queries and keys that are normed as whole rows, which each thread does for itself when it decodes,
// where threads share the keys of a head (beyond run_keys).
#include "whole_rows.hpp"

using namespace cke;
using namespace cke::kernels;

namespace own_queries {

TEST_CASE("sameness: whole rows of queries and keys are normed: threads, chunks, decoding behind run_keys") {
  sameness::machine<F32, dtype::f32, isa::native, 2 * run_keys + 150, whole_rows>::check_matrix({2, 3}, {9, 512});
}
TEST_CASE("sameness: whole rows of queries and keys are normed: many sequences in one pass") {
  sameness::machine<Q8_0, dtype::bf16, isa::native, run_keys + 150, whole_rows>::check_together(3, 5, 40);
}

}  // namespace own_queries

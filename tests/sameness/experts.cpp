// SPDX-License-Identifier: MIT
// experts.cpp: mixtures of experts: who else is in a pass changes no bit of a token.
#include "../runtime/expert_model.hpp"
#include "sameness.hpp"

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

TEST_CASE_TEMPLATE("sameness: experts: threads, chunks, decoding", formats, F32, BF16, Q8_0) {
  sameness::machine<formats, default_kv<formats>, isa::native, 310, random_model::with_experts>::check_matrix(
      {1, 2, 3, 4}, {1, 7, 64, 512});
}
TEST_CASE("sameness: experts: many sequences in one pass") {
  for (const u32 threads : {1u, 3u})
    sameness::machine<Q8_0, dtype::bf16, isa::native, 310, random_model::with_experts>::check_together(threads, 12, 60);
}

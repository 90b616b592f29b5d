// SPDX-License-Identifier: MIT
// k_quants.cpp: weights in blocks of 4 to 6 bits, in llama.cpp's mixes and in every mix at once.
#include "sameness.hpp"

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

TEST_CASE_TEMPLATE("sameness: k-quants: threads, chunks, decoding", formats, Q4_K_M, random_model::patchwork) {
  sameness::machine<formats, dtype::bf16, isa::native, 310, random_model::wide>::check_matrix({1, 2, 3},
                                                                                              {1, 7, 64, 512});
}
TEST_CASE("sameness: k-quants: forks and rewinds") {
  sameness::machine<Q4_K_M, dtype::bf16, isa::native, 310, random_model::wide>::check_forks();
}

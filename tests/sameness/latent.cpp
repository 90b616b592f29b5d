// SPDX-License-Identifier: MIT
// latent.cpp: heads that share one key and value are cut into slices for threads, and contexts into runs: the bits
// stay.
#include "../runtime/latent_model.hpp"
#include "sameness.hpp"

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;
using random_model::with_latents;

TEST_CASE_TEMPLATE("sameness: latents: threads, chunks, decoding", formats, F32, BF16, Q8_0) {
  sameness::machine<formats, default_kv<formats>, isa::native, 310, with_latents>::check_matrix({1, 2, 3, 4},
                                                                                                {1, 7, 64, 512});
}
TEST_CASE("sameness: latents: from slices of heads to runs of keys") {
  sameness::machine<F32, dtype::f32, isa::native, 540, with_latents>::check_matrix({2, 3}, {5, 16, 300});
}
TEST_CASE("sameness: latents: many sequences in one pass") {
  for (const u32 threads : {1u, 2u, 4u})
    sameness::machine<Q8_0, dtype::q8_0, isa::native, 540, with_latents>::check_together(threads, 12, 60);
}

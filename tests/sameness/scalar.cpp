// SPDX-License-Identifier: MIT
// scalar.cpp: the scalar kernels agree with themselves as well.
#include "sameness.hpp"

using namespace cke;

TEST_CASE_TEMPLATE("sameness: scalar kernels: threads, chunks, decoding", formats, F32, BF16, Q8_0) {
  sameness::machine<formats, default_kv<formats>, isa::scalar>::check_matrix({2}, {7, 512});
}

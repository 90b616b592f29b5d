// SPDX-License-Identifier: MIT
// unrolled.hpp: Model<M, Formats, KV, isa::native, unrolled>: a small model as straight-line code.
#pragma once

#include "runtime/unrolled_executor.hpp"

namespace cke {

// The compiler writes out every layer, with its shapes and offsets as constants. The bits are those of the walk over
// tables. The thread that feeds runs all passes, of at most 16 rows and one row of logits whatever model_options says;
// the others only pack weights. Model::watch throws. Models that read images do not compile.
using runtime::unrolled;

}  // namespace cke

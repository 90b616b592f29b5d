// SPDX-License-Identifier: MIT
// cuda.cuh: models on a GPU: cke::Model<M, Formats, KV, cke::Cuda>. For units that nvcc compiles.
#pragma once

#include "cuda/executor.cuh"
#include "cuda/gpu.cuh"
#include "model.hpp"

namespace cke {

using Cuda = cuda::isa<cuda::gpu>;

}  // namespace cke

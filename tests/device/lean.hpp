// SPDX-License-Identifier: MIT
// lean.hpp: a device whose launches of single steps are compiled in one unit, toy.cu, for the others that measure
// persistent kernels: half of the time to compile is those of steps.
#pragma once

#include <cke/cuda/gpu.cuh>

namespace device_check {

struct lean : cke::cuda::gpu {
  template <class Kernel> void launch(cke::cuda::launch_shape g, const cke::cuda::step& s);
};

}  // namespace device_check

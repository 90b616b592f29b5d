// SPDX-License-Identifier: MIT
// arch.cuh: GPU generations as one inheritance chain; a kernel that one lacks is looked up in its base.
#pragma once

#include "../core/types.hpp"

namespace cke::cuda {

// A tag stands for what its generation added.
struct sm75 {  // dp4a
  using base = void;
};
struct sm80 : sm75 {  // mma of bytes and of bf16, copies that do not wait
  using base = sm75;
};
struct sm89 : sm80 {
  using base = sm80;
};
struct sm90 : sm89 {  // bulk copies, clusters
  using base = sm89;
};
struct sm100 : sm90 {
  using base = sm90;
};
struct sm120 : sm100 {
  using base = sm100;
};

// The tag of a number as in __CUDA_ARCH__.
template <u32 Number>
using arch_of = std::conditional_t<
    (Number >= 1200), sm120,
    std::conditional_t<(Number >= 1000), sm100,
                       std::conditional_t<(Number >= 900), sm90,
                                          std::conditional_t<(Number >= 890), sm89, std::conditional_t<(Number >= 800), sm80, sm75>>>>>;

}  // namespace cke::cuda

// SPDX-License-Identifier: MIT
// arch.cuh: GPU generations as one inheritance chain; if a generation lacks a kernel, its base is searched.
#pragma once

#include "../core/types.hpp"

namespace cke::cuda {

// A tag lists what its generation added. shared_memory: bytes that a block may use.
struct sm75 {  // dp4a
  using base = void;
  static constexpr u32 shared_memory = 64 * 1024;
};
struct sm80 : sm75 {  // mma of int8 and bf16, cp.async
  using base = sm75;
  static constexpr u32 shared_memory = 163 * 1024;
};
struct sm86 : sm80 {
  using base = sm80;
  static constexpr u32 shared_memory = 99 * 1024;
};
struct sm89 : sm86 {
  using base = sm86;
};
struct sm90 : sm89 {  // bulk copies (TMA), clusters
  using base = sm89;
  static constexpr u32 shared_memory = 227 * 1024;
};
struct sm100 : sm90 {
  using base = sm90;
};
struct sm120 : sm100 {
  using base = sm100;
  static constexpr u32 shared_memory = 99 * 1024;
};

template <class Arch> inline constexpr bool has_clusters = std::is_base_of_v<sm90, Arch>;

// The tag of a number, which is written as in __CUDA_ARCH__.
template <u32 Number>
using arch_of = std::conditional_t<
    (Number >= 1200), sm120,
    std::conditional_t<
        (Number >= 1000), sm100,
        std::conditional_t<(Number >= 900), sm90,
                           std::conditional_t<(Number >= 890), sm89,
                                              std::conditional_t<(Number >= 860), sm86,
                                                                 std::conditional_t<(Number >= 800), sm80, sm75>>>>>>;

}  // namespace cke::cuda

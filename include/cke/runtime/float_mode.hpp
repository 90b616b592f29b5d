// SPDX-License-Identifier: MIT
// float_mode.hpp: the floating-point mode of every kernel.
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "../core/types.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// Round to nearest, no traps, denormals are zero. It is the same on all threads; otherwise the bits of a result would
// depend on the thread that computed it. Denormals stay where there is no such mode: in WebAssembly, and where a
// library does the arithmetic (a Cortex-M without an FPU).
class kernel_float_mode {
 public:
#if defined(__SSE2__)
  kernel_float_mode() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80 | 0x8040); }
  ~kernel_float_mode() { _mm_setcsr(saved_); }

 private:
  u32 saved_;
#elif defined(__aarch64__)
  kernel_float_mode() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    set(u64{1} << 24);
  }
  ~kernel_float_mode() { set(saved_); }

 private:
  static void set(u64 fpcr) { asm volatile("msr fpcr, %0" : : "r"(fpcr) : "memory"); }
  u64 saved_;
#elif defined(__ARM_FP) && __ARM_FP != 0
  kernel_float_mode() : saved_(__builtin_arm_get_fpscr()) { __builtin_arm_set_fpscr(1u << 24); }
  ~kernel_float_mode() { __builtin_arm_set_fpscr(saved_); }

 private:
  u32 saved_;
#else
  kernel_float_mode() = default;
  ~kernel_float_mode() {}
#endif

 public:
  kernel_float_mode(const kernel_float_mode&) = delete;
  kernel_float_mode& operator=(const kernel_float_mode&) = delete;
};

}  // namespace cke::runtime
CKE_COLD_END

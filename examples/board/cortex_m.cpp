// SPDX-License-Identifier: MIT
// cortex_m.cpp: how a Cortex-M starts, and speaks to a debugger or an emulator by semihosting.
#include <cstdint>

#include "toy.hpp"

extern "C" {
extern std::uint32_t stack_begin[], stack_end[], bss_begin[], bss_end[];  // cortex_m.ld

// newlib's sqrtf keeps errno and other state; the one inside it does not. A board with an FPU calls neither.
float __ieee754_sqrtf(float);
float sqrtf(float x) { return __ieee754_sqrtf(x); }
}

namespace {

constexpr std::uint32_t untouched = 0xc0ffee00;

int semihosting(int operation, const void* argument) {
  register int r0 asm("r0") = operation;
  register const void* r1 asm("r1") = argument;
  asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

[[noreturn]] void end(int status) {
  const std::uint32_t reason[]{0x20026, static_cast<std::uint32_t>(status)};  // the application has exited
  for (;;) semihosting(0x20, reason);
}

[[noreturn]] void reset() {
#ifdef __ARM_FP
  *reinterpret_cast<volatile std::uint32_t*>(0xe000ed88) |= 0xfu << 20;  // switches the FPU on
  asm volatile("dsb\n isb");
#endif
  for (std::uint32_t* p = bss_begin; p < bss_end; ++p) *p = 0;
  const auto* const here = static_cast<const std::uint32_t*>(__builtin_frame_address(0));
  for (volatile std::uint32_t* p = stack_begin; p < here - 16; ++p) *p = untouched;
  end(board_main());
}
[[noreturn]] void fault() {
  board_put("fault\n");
  end(2);
}

[[gnu::section(".vectors"), gnu::used]] const void* const vectors[]{
    stack_end,
    reinterpret_cast<const void*>(reset),
    reinterpret_cast<const void*>(fault),  // NMI, hard fault, and those that become one
    reinterpret_cast<const void*>(fault),
};

}  // namespace

void board_put(const char* text) { semihosting(4, text); }
cke::u32 board_stack_used() {
  const std::uint32_t* p = stack_begin;
  while (*p == untouched) ++p;
  return static_cast<cke::u32>(stack_end - p) * 4;
}

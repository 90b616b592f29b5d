// SPDX-License-Identifier: MIT
// x86_64.cpp: the same program as a process that uses two system calls, to write and to end, and no library.
#include "toy.hpp"

namespace {

constexpr cke::u64 stack_bytes = 16384;
constexpr std::byte untouched{0xc5};
alignas(64) std::byte stack[stack_bytes];

long call(long number, long a, const void* b, unsigned long c) {
  long result;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}

}  // namespace

extern "C" {

// The compiler calls these four whatever it is told.
void* memset(void* to, int value, std::size_t count) {
  void* at = to;
  asm volatile("rep stosb" : "+D"(at), "+c"(count) : "a"(value) : "memory");
  return to;
}
void* memcpy(void* to, const void* from, std::size_t count) {
  void* at = to;
  asm volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(count) : : "memory");
  return to;
}
void* memmove(void* to, const void* from, std::size_t count) {
  if (to <= from) return memcpy(to, from, count);
  auto* const t = static_cast<volatile char*>(to);
  while (count--) t[count] = static_cast<const char*>(from)[count];
  return to;
}
int memcmp(const void* a, const void* b, std::size_t count) {
  const auto *x = static_cast<const unsigned char*>(a), *y = static_cast<const unsigned char*>(b);
  for (; count; --count, ++x, ++y)
    if (*x != *y) return *x - *y;
  return 0;
}

[[gnu::used, noreturn]] void start() {
  for (std::byte* p = stack; p < static_cast<std::byte*>(__builtin_frame_address(0)) - 128; ++p)
    *const_cast<volatile std::byte*>(p) = untouched;
  for (int status = board_main();;) call(60, status, nullptr, 0);
}

void board_put(const char* text) {
  std::size_t length = 0;
  while (text[length]) ++length;
  call(1, 1, text, length);
}
cke::u32 board_stack_used() {
  const std::byte* p = stack;
  while (*p == untouched) ++p;
  return static_cast<cke::u32>(stack + stack_bytes - p);
}
}

extern "C" std::byte* const stack_top = stack + stack_bytes;
asm(".global _start\n_start: mov stack_top(%rip), %rsp\n call start");

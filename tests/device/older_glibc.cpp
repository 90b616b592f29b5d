// SPDX-License-Identifier: MIT
// older_glibc.cpp: the one function that libstdc++ asks of glibc 2.36, so that the program runs with 2.35.
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t word = 0;
  if (getrandom(&word, sizeof word, 0) != sizeof word) std::abort();
  return word;
}

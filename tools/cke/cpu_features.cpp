// SPDX-License-Identifier: MIT
// cpu_features.cpp: asks this cpu what it has. Compiled for any machine (CMakeLists.txt), as machine_check.cpp is.
#include "machine_features.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace cke::tool {

#if defined(__x86_64__)
std::uint64_t features_of_cpu() {
  cpu_words w;
  unsigned a{}, b{}, c{}, d{};
  if (__get_cpuid(1, &a, &b, &c, &d)) w.c1 = c;
  if (w.c1 >> 27 & 1) {  // the system uses XCR0
    unsigned low{}, high{};
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    w.saved_registers = std::uint64_t{high} << 32 | low;
  }
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    w.b7 = b, w.c7 = c, w.d7 = d;
    if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) w.a7_1 = a, w.d7_1 = d;
  }
  if ((w.d7_1 >> 19 & 1) && __get_cpuid_count(0x24, 0, &a, &b, &c, &d)) {
    const unsigned version = b & 0xff;
    w.avx10 = version < 31 ? (2u << version) - 1 : ~0u;
  }
  if (__get_cpuid(0x80000001, &a, &b, &c, &d)) w.c_amd = c;
  return features_in(w);
}
#else
std::uint64_t features_of_cpu() { return ~std::uint64_t{0}; }
#endif

}  // namespace cke::tool

// SPDX-License-Identifier: MIT
// machine_check.cpp: a program that was compiled for another machine says so, where it would end by a signal. Compiled
// for any machine (CMakeLists.txt), and the first code of ours that runs.
#include "machine_features.hpp"

#if defined(__x86_64__)
#include <unistd.h>

#include <cstdio>

namespace {

__attribute__((constructor(101))) void check_machine() {
  __builtin_cpu_init();
  const char* missing = nullptr;
  const bool* needs = cke_machine_needs;
#define CKE_CHECK(name, macro) \
  if (*needs++ && !__builtin_cpu_supports(name) && !missing) missing = name;
  CKE_MACHINE_FEATURES(CKE_CHECK)
  if (!missing) return;
  char line[160];
  const int n = std::snprintf(
      line, sizeof line, "cke: error: this program was compiled for a cpu with %s, which this one lacks\n", missing);
  if (::write(STDERR_FILENO, line, static_cast<std::size_t>(n)) < 0) ::_exit(2);
  ::_exit(1);
}

}  // namespace
#endif

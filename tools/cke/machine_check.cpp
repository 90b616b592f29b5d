// SPDX-License-Identifier: MIT
// machine_check.cpp: a program that was compiled for another machine says so, where it would end by a signal. Compiled
// for any machine (CMakeLists.txt), and the first code of ours that runs. standalone.cpp checks what a unit needs.
#include "machine_features.hpp"

#if defined(__x86_64__)
#include <unistd.h>

#include <cstddef>

namespace {

__attribute__((constructor(101))) void check_machine() {
  const std::uint64_t missing = cke_machine_needs & ~cke::tool::features_of_cpu();
  if (!missing) return;
  char line[1024]{};
  std::size_t size = 0;
  const auto add = [&](const char* text) {
    while (*text && size < sizeof line) line[size++] = *text++;
  };
  add("cke: error: this program was compiled for a cpu with ");
  const char* before = "";
  unsigned row = 0;
  for (const cke::tool::machine_feature& f : cke::tool::machine_features)
    if (missing >> row++ & 1) add(before), add(f.name), before = ", ";
  add(", which this one lacks\n");
  if (::write(STDERR_FILENO, line, size) < 0) ::_exit(2);
  ::_exit(1);
}

}  // namespace
#endif

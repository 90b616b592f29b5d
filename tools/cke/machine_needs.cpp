// SPDX-License-Identifier: MIT
// machine_needs.cpp: compiled for the machine that the other code is compiled for, but data alone.
#include "machine_features.hpp"

namespace {

constexpr std::uint64_t needs() {
#ifdef __clang__
  constexpr bool by_clang = true;
#else
  constexpr bool by_clang = false;
#endif
  std::uint64_t all = 0;
  unsigned row = 0;
#define CKE_TEXT_OF(x) #x
#define CKE_NEEDS(name, macro, word, bit, registers) \
  all |= std::uint64_t{CKE_TEXT_OF(macro)[0] == '1' && cke::tool::is_used(name, by_clang)} << row++;
  CKE_MACHINE_FEATURES(CKE_NEEDS)
  return all;
}

}  // namespace

extern constexpr std::uint64_t cke_machine_needs = needs();

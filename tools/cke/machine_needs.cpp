// SPDX-License-Identifier: MIT
// machine_needs.cpp: compiled for the machine that the other code is compiled for, but data alone.
#include "machine_features.hpp"

#define CKE_TEXT_OF(x) #x
#define CKE_IS_DEFINED(name, macro) CKE_TEXT_OF(macro)[0] == '1',
extern constexpr bool cke_machine_needs[] = {CKE_MACHINE_FEATURES(CKE_IS_DEFINED)};

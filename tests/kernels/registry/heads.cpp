// SPDX-License-Identifier: MIT
// heads.cpp: the parity tests of steps on heads and their caches.
#include "drivers_heads.hpp"

template struct parity::tests_of<parity::part::heads>;

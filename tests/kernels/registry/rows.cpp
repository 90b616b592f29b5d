// SPDX-License-Identifier: MIT
// rows.cpp: the parity tests of steps on rows of floats.
#include "drivers_towers.hpp"

template struct parity::tests_of<parity::part::rows>;

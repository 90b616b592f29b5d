// SPDX-License-Identifier: MIT
// rows.cpp: the parity tests of steps on rows of floats.
#include "drivers_rows.hpp"

template struct parity::tests_of<parity::part::rows>;

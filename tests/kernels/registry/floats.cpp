// SPDX-License-Identifier: MIT
// floats.cpp: the parity tests of steps with matrices of floats.
#include "drivers_matrices.hpp"

template struct parity::tests_of<parity::part::floats>;

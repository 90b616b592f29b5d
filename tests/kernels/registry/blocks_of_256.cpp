// SPDX-License-Identifier: MIT
// blocks_of_256.cpp: the parity tests of steps with matrices of blocks of 256.
#include "drivers_matrices.hpp"

template struct parity::tests_of<parity::part::blocks_of_256>;

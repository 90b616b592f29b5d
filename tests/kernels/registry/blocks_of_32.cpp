// SPDX-License-Identifier: MIT
// blocks_of_32.cpp: the parity tests of steps with matrices of blocks of 32.
#include "drivers_matrices.hpp"

template struct parity::tests_of<parity::part::blocks_of_32>;

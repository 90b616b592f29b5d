// SPDX-License-Identifier: MIT
// recurrent.cpp: the parity tests of steps with a recurrent state.
#include "drivers_recurrent.hpp"

template struct parity::tests_of<parity::part::recurrent>;

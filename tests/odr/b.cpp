// SPDX-License-Identifier: MIT
// b.cpp: the other unit; see a.cpp.
#include <everything.hpp>

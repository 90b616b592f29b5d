// SPDX-License-Identifier: MIT
// a.cpp: one of two units that include every public header.
#include <everything.hpp>

int main() {}

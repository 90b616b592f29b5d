// SPDX-License-Identifier: MIT
// main.cpp: the doctest runner that every room's tests are linked with.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

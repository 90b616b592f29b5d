// SPDX-License-Identifier: MIT
// main.cpp: the runner of tests for WebAssembly.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

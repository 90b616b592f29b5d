// SPDX-License-Identifier: MIT
// registry.cpp: every kernel in the registry passes the parity test that is generated from it.
#include "cke/kernels/registry.hpp"

#include <doctest/doctest.h>

#include "parts.hpp"

TEST_CASE("parity: steps on rows of floats") { parity::tests_of<parity::part::rows>::run(); }
TEST_CASE("parity: steps on heads and their caches") { parity::tests_of<parity::part::heads>::run(); }
TEST_CASE("parity: steps with a recurrent state") { parity::tests_of<parity::part::recurrent>::run(); }
TEST_CASE("parity: steps with matrices of floats") { parity::tests_of<parity::part::floats>::run(); }
TEST_CASE("parity: steps with matrices in blocks of 32") { parity::tests_of<parity::part::blocks_of_32>::run(); }
TEST_CASE("parity: steps with matrices in blocks of 256") { parity::tests_of<parity::part::blocks_of_256>::run(); }

// SPDX-License-Identifier: MIT
// random.cpp: Philox against the authors' known answers; the uniform draw against its definition.
#include <cke/text/sampling/random.hpp>

#include <doctest/doctest.h>

#include <array>

using namespace cke;
using namespace cke::text;
using block = std::array<u32, 4>;

// Random123's kat_vectors, lines "philox4x32 10".
static_assert(philox4x32({0, 0, 0, 0}, {0, 0}) == block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
              block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
              block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

// The first vector's two leading words, cut to 53 bits.
static_assert(uniform(0, 0) == static_cast<double>(0x6627e8d5e169c58dull >> 11) * 0x1p-53);

TEST_CASE("uniform: all 64 bits of seed and position matter, and they are not interchangeable") {
  const double base = uniform(1, 2);
  CHECK(uniform(1, 2) == base);
  CHECK(uniform(2, 1) != base);
  for (int bit = 0; bit < 64; ++bit) {
    CHECK(uniform(1ull ^ 1ull << bit, 2) != base);
    CHECK(uniform(1, 2ull ^ 1ull << bit) != base);
  }
}

TEST_CASE("uniform: in [0, 1), with the mean and variance of a uniform variable") {
  constexpr u32 n = 100'000;
  double sum = 0, squares = 0;
  for (u64 position = 0; position < n; ++position) {
    const double u = uniform(42, position);
    CHECK_UNARY(u >= 0 && u < 1);
    sum += u;
    squares += u * u;
  }
  CHECK(sum / n == doctest::Approx(0.5).epsilon(0.01));
  CHECK(squares / n == doctest::Approx(1.0 / 3).epsilon(0.01));
}

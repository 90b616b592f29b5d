// SPDX-License-Identifier: MIT
// rope_cache.cpp: one table for each rope, a row for each position.
#include "cke/runtime/rope_cache.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace cke;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

TEST_CASE("rope_cache: a row is that position's cos and sin, at every position of the context") {
  constexpr rotary plain{.dims = 24, .theta = 1e4},
      stretched{.dims = 16, .theta = 500, .rule = rope_scaling::linear, .factor = 4};
  rope_cache c;
  c.add(plain, 24, 100);
  c.add(stretched, 32, 100);
  for (const rotary& r : {plain, stretched}) {
    const rope_view v = c.find(r, r.dims == 24 ? 24 : 32);
    REQUIRE(v.cos);
    REQUIRE(v.sin);
    const double slower = r.rule == rope_scaling::linear ? 4 : 1;
    for (u32 p = 0; p < 100; ++p)
      for (u32 i = 0; i < r.dims / 2; ++i) {
        const double angle = p * std::pow(r.theta.v, -2. * i / r.dims) / slower;
        CHECK(std::abs(static_cast<double>(v.cos[p * (r.dims / 2) + i]) - std::cos(angle)) < 1e-5);
        CHECK(std::abs(static_cast<double>(v.sin[p * (r.dims / 2) + i]) - std::sin(angle)) < 1e-5);
      }
  }
}

TEST_CASE("rope_cache: equal ropes share a table, and one that was not added has none") {
  constexpr rotary a{.dims = 8, .theta = 1e4}, b{.dims = 8, .theta = 1e6};
  rope_cache c;
  c.add(a, 8, 10);
  const float* const first = c.find(a, 8).cos;
  c.add(a, 8, 10);
  CHECK(c.find(a, 8).cos == first);
  CHECK(c.find(b, 8).cos == nullptr);
  c.add(b, 8, 10);
  CHECK(c.find(b, 8).cos != nullptr);
  CHECK(c.find(b, 8).cos != c.find(a, 8).cos);
  CHECK(c.find(a, 16).cos == nullptr);
  CHECK(c.find(a, 8).cos == first);  // the tables stay where they are
}

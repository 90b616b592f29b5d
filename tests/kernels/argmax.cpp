// SPDX-License-Identifier: MIT
// argmax.cpp: the greatest logit, however the row is cut.
#include "cke/kernels/argmax.hpp"

#include "numbers.hpp"

using namespace cke;
using namespace cke::kernels;
using namespace numbers;

TEST_CASE("argmax: the greatest, and of equals the lowest id") {
  for_each_isa([]<class Isa>() {
    CAPTURE(Isa::name);
    for (u32 n = 1; n < 80; ++n) {
      auto x = random_row(n, n);
      for (float& v : x) v = std::round(v * 2);  // many ties
      u32 expected = 0;
      for (u32 i = 1; i < n; ++i)
        if (x[i] > x[expected]) expected = i;
      const best_token best = argmax<Isa>::span(x.data(), n, 1000);
      CHECK(best.id == 1000 + expected);
      CHECK(best.logit == x[expected]);
    }
  });
}

TEST_CASE("argmax: units merged in any order give the result of the whole row") {
  for_each_isa([]<class Isa>() {
    CAPTURE(Isa::name);
    auto x = random_row(500, 3);
    x[411] = x[77] = x[13] = 9.f;
    best_token forward, backward;
    for (u32 unit = 0; unit * 32 < 500; ++unit) {
      const auto part = [&](u32 u) {
        return argmax<Isa>::span(&x[u * 32], std::min(32u, 500 - u * 32), u * 32);
      };
      forward = better(forward, part(unit));
      backward = better(backward, part(15 - unit));
    }
    CHECK(forward.id == 13);
    CHECK(backward.id == 13);
  });
}

TEST_CASE("argmax: NaN and -infinity lose, and even alone they leave a valid id") {
  for_each_isa([]<class Isa>() {
    CAPTURE(Isa::name);
    std::vector<float> x(40, NAN);
    CHECK(argmax<Isa>::span(x.data(), 40, 5).id == 5);
    x[21] = -HUGE_VALF;
    CHECK(argmax<Isa>::span(x.data(), 40, 5).id >= 5);
    CHECK(argmax<Isa>::span(x.data(), 40, 5).id < 45);
    x[33] = -1e30f;
    CHECK(argmax<Isa>::span(x.data(), 40, 5).id == 38);
    CHECK(better(best_token{}, argmax<Isa>::span(x.data(), 20, 5)).id == 5);
  });
}

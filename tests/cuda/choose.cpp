// SPDX-License-Identifier: MIT
// choose.cpp: noise, of which ids are chosen by chance.
#include <cke/cuda/choose.cuh>

#include <doctest/doctest.h>

#include <cmath>

using namespace cke;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

TEST_CASE("cuda: noise makes draws from the softmax") {
  const float logits[]{2.f, 0.f, 1.f, -1.f, -std::numeric_limits<float>::infinity()};
  const device_sampling how{0.8f, 7};
  constexpr u32 draws = 40'000;
  double total = 0, expected[5];
  u32 found[5]{};
  for (u32 i = 0; i < 5; ++i) total += expected[i] = std::exp(double{logits[i]} / double{how.temperature});
  for (u32 n = 0; n < draws; ++n) {
    cuda::candidate best{-std::numeric_limits<float>::infinity(), 5};
    for (u32 i = 0; i < 5; ++i)
      if (const cuda::candidate c{cuda::score(logits[i], how, n, i), i}; cuda::better(c, best)) best = c;
    ++found[best.id];
  }
  for (u32 i = 0; i < 5; ++i) {
    const double p = expected[i] / total;
    CHECK(std::abs(found[i] - p * draws) <= 4 * std::sqrt(draws * p * (1 - p)));
  }
  for (const float x : {1e-30f, 0.3f, 0.7071067f, 0.7071068f, 1.f, 5.f, 3e30f})
    CHECK(cuda::log(x) == doctest::Approx(std::log(double{x})).epsilon(3e-7));
  CHECK(cuda::gumbel(0) == doctest::Approx(-std::log(0x1p-33)));
  CHECK(cuda::gumbel(0xffffffffu) == doctest::Approx(-std::log(24 * std::log(2.))));
}

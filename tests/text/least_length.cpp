// SPDX-License-Identifier: MIT
// least_length.cpp: an answer's ends have no probability before its least length, and the rest is scaled up.
#include <cke/text/sampling/least_length.hpp>

#include <doctest/doctest.h>

#include <cmath>

#include <cke/text/sampling/sampler.hpp>

using namespace cke;
using namespace cke::text;

namespace {

constexpr float banned = -std::numeric_limits<float>::infinity();
// Token i has the probability of (i + 1) / 10.
const std::vector<float> logits{std::log(0.1f), std::log(0.2f), std::log(0.3f), std::log(0.4f)};

}  // namespace

TEST_CASE("least_length: p becomes p / (1 - the probability of the ends)") {
  least_length least(4, 3, {1, 3, 99});
  sampler s(4, {.temperature = 1});
  for (u32 count = 0; count < 3; ++count) {
    s.sample(least.only(logits, count), {}, count);
    REQUIRE(s.kept().size() == 2);
    for (const auto& c : s.kept()) {
      const double p = 0.1 * (c.id + 1) / (1 - 0.2 - 0.4);
      CHECK(static_cast<double>(c.weight) / s.total() == doctest::Approx(p).epsilon(1e-6));
    }
  }
  CHECK(least.only(logits, 3).data() == logits.data());
  CHECK(least.only(logits, 7).data() == logits.data());
}

TEST_CASE("least_length: the length of an answer is the least one and a geometric rest") {
  // An end of probability 0.4 comes after 0.6 / 0.4 tokens on average; with at least 5, after 5 more.
  constexpr u32 answers = 4000;
  double sum = 0;
  for (u32 seed = 0; seed < answers; ++seed) {
    least_length least(4, 5, {3});
    sampler s(4, {.temperature = 1, .seed = seed});
    u32 n = 0;
    while (s.sample(least.only(logits, n), {}, n) != 3) ++n;
    CHECK(n >= 5);
    sum += n;
  }
  const double deviation = std::sqrt(0.6) / 0.4 / std::sqrt(double{answers});
  CHECK(std::abs(sum / answers - (5 + 0.6 / 0.4)) < 4 * deviation);
}

TEST_CASE("least_length: where only ends are left, they stay; without ends or a length it does nothing") {
  least_length least(4, 3, {1, 3});
  const std::vector<float> ending{banned, 1, banned, 2};
  CHECK(least.only(ending, 0).data() == ending.data());
  CHECK(least_length(4, 3, {}).only(logits, 0).data() == logits.data());
  CHECK(least_length(4, 0, {1}).only(logits, 0).data() == logits.data());
  const std::vector<float> wrong(5);
  CHECK(least.only(wrong, 0).data() == wrong.data());  // the sampler refuses it
}

// SPDX-License-Identifier: MIT
// pooling.cpp: rows of a text become one vector.
#include "cke/text/pooling.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace pooling_test {

using namespace cke;
using namespace cke::text;

namespace {

const std::vector<std::vector<float>> rows{{3, 4, 0, 12}, {1, -2, 7, 0.5f}, {-4, 3, 2, 6}};

std::vector<float> of(const embed_options& how) {
  pooled p(how, static_cast<u32>(rows.size()), 4);
  const row_sink sink = p.sink();
  for (u32 i = 0; i < rows.size(); ++i) sink.take(sink.user, i, rows[i].data());
  return p.embedding();
}

}  // namespace

TEST_CASE("pooling: last, cls and mean") {
  CHECK(of({.pooling = pooling::last, .normalised = false}) == rows[2]);
  CHECK(of({.pooling = pooling::cls, .normalised = false}) == rows[0]);
  const std::vector<float> mean = of({.pooling = pooling::mean, .normalised = false});
  CHECK(mean[0] == 0);
  CHECK(mean[1] == doctest::Approx(5.0 / 3));
  CHECK(mean[2] == 3);
  CHECK(mean[3] == doctest::Approx(18.5 / 3));
}

TEST_CASE("pooling: of length 1, and of fewer dimensions") {
  CHECK(of({.pooling = pooling::cls}) == std::vector<float>{3 / 13.f, 4 / 13.f, 0, 12 / 13.f});
  CHECK(of({.pooling = pooling::cls, .dimensions = 2}) == std::vector<float>{0.6f, 0.8f});
  CHECK(of({.pooling = pooling::cls, .dimensions = 9}).size() == 4);
}

TEST_CASE("pooling: a vector of zeros stays one, and numbers that are none are refused") {
  const float zeros[2]{}, broken[]{1, std::numeric_limits<float>::infinity()};
  pooled nothing({}, 1, 2), infinite({}, 1, 2);
  nothing.add(zeros), infinite.add(broken);
  CHECK(nothing.embedding() == std::vector<float>{0, 0});
  CHECK_THROWS_AS(infinite.embedding(), Error);
}

}  // namespace pooling_test

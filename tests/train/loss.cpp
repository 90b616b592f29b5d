// SPDX-License-Identifier: MIT
// loss.cpp: cross-entropy, smoothed labels and the z-loss, against their formulas in double and finite differences.
#include <doctest/doctest.h>

#include <cke/train/loss.hpp>
#include <numeric>
#include <random>
#include <vector>

namespace {

using namespace cke;
using namespace cke::train;

double exact_loss(const std::vector<double>& x, u32 target, const loss_options& o) {
  double sum = 0;
  for (const double v : x) sum += std::exp(v);
  const double log_sum = std::log(sum), smoothing = static_cast<double>(o.label_smoothing);
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  return (1 - smoothing) * (log_sum - x[target]) + smoothing * (log_sum - mean) +
      static_cast<double>(o.z_loss) * log_sum * log_sum;
}

template <class Isa> void check(u32 vocab, u32 target, const loss_options& o) {
  std::mt19937 random(vocab);
  std::normal_distribution<float> number(1, 3);
  std::vector<float> x(vocab);
  for (float& v : x) v = number(random);
  std::vector<double> logits(x.begin(), x.end());
  const float by = 0.25f;
  CAPTURE(vocab);
  CAPTURE(o.label_smoothing);
  CAPTURE(o.z_loss);
  CHECK(row_loss<Isa>(x.data(), vocab, target, o, by) == doctest::Approx(exact_loss(logits, target, o)).epsilon(1e-6));
  for (u32 i = 0; i < vocab; ++i) {
    constexpr double step = 1e-4;
    const double kept = logits[i];
    logits[i] = kept + step;
    const double above = exact_loss(logits, target, o);
    logits[i] = kept - step;
    const double slope = (above - exact_loss(logits, target, o)) / (2 * step);
    logits[i] = kept;
    REQUIRE(std::abs(static_cast<double>(x[i] / by) - slope) <= 1e-6 + 1e-5 * std::abs(slope));
  }
}

}  // namespace

TEST_CASE_TEMPLATE("train: the loss of a row and its slope", Isa, isa::scalar, isa::native) {
  for (const loss_options& o : {loss_options{}, {0.1f, 0}, {0, 0.01f}, {0.3f, 0.02f}, {1, 0}})
    for (const u32 vocab : {2u, 77u, 517u}) check<Isa>(vocab, vocab / 3, o);
}

// SPDX-License-Identifier: MIT
// loss.cpp: cross-entropy, smoothed labels, the z-loss and the load-balance loss, against their formulas in double and
// finite differences.
#include <doctest/doctest.h>

#include <cke/train/balance.hpp>
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

// Some tokens in the middle of others, which are neither read nor given a gradient.
constexpr u32 experts = 5, active = 2, before = 2, tokens = 7, after = 1, all_rows = before + tokens + after;

double exact_balance(const std::vector<double>& logits, const std::vector<float>& chosen, scoring by) {
  std::vector<double> load(experts), mean(experts);
  for (u32 t = before; t < before + tokens; ++t) {
    for (u32 k = 0; k < active; ++k) load[static_cast<u32>(chosen[t * 2 * active + k])] += 1;
    std::vector<double> p(experts);
    for (u32 e = 0; e < experts; ++e) {
      const double x = logits[t * experts + e];
      p[e] = by == scoring::sigmoid ? 1 / (1 + std::exp(-x)) : std::exp(x);
    }
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    for (u32 e = 0; e < experts; ++e) mean[e] += p[e] / sum / tokens;
  }
  double loss = 0;
  for (u32 e = 0; e < experts; ++e) loss += load[e] * experts / (active * tokens) * mean[e];
  return loss;
}

void check_balance(scoring by) {
  std::mt19937 random(5);
  std::normal_distribution<float> number(0, 2);
  std::vector<float> logits(all_rows * experts), chosen(all_rows * 2 * active), slope(all_rows * experts, 1);
  for (float& x : logits) x = number(random);
  for (u32 t = 0; t < all_rows; ++t)
    chosen[t * 2 * active] = static_cast<float>(t % 3), chosen[t * 2 * active + 1] = 3 + static_cast<float>(t % 2);
  const auto rows_of = [](std::vector<float>& x, u32 width) {
    return view{reinterpret_cast<std::byte*>(x.data()), width, width, dtype::f32};
  };
  float room[2 * experts];
  const float scale = 0.5f;
  const double found = balance_loss(
      {.experts = experts, .active = active, .score = by},
      {rows_of(logits, experts), rows_of(chosen, 2 * active), rows_of(slope, experts), before, tokens}, scale, room);
  std::vector<double> exact(logits.begin(), logits.end());
  CHECK(found == doctest::Approx(exact_balance(exact, chosen, by)).epsilon(1e-6));
  for (u32 i = 0; i < exact.size(); ++i) {
    constexpr double step = 1e-5;
    const double kept = exact[i];
    exact[i] = kept + step;
    const double above = exact_balance(exact, chosen, by);
    exact[i] = kept - step;
    const double want = 1 + static_cast<double>(scale) * (above - exact_balance(exact, chosen, by)) / (2 * step);
    exact[i] = kept;
    CHECK(static_cast<double>(slope[i]) == doctest::Approx(want).epsilon(1e-6));
  }
}

}  // namespace

TEST_CASE("train: the load-balance loss of a sequence and its slope") {
  check_balance(scoring::softmax);
  check_balance(scoring::softmax_of_chosen);
  check_balance(scoring::sigmoid);
}

TEST_CASE_TEMPLATE("train: the loss of a row and its slope", Isa, isa::scalar, isa::native) {
  for (const loss_options& o : {loss_options{}, {0.1f, 0}, {0, 0.01f}, {0.3f, 0.02f}, {1, 0}})
    for (const u32 vocab : {2u, 77u, 517u}) check<Isa>(vocab, vocab / 3, o);
}

TEST_CASE("train: sums and the greatest of rows of any length take every number once") {
  for (u32 n = 1; n < 140; ++n) {
    std::vector<float> x(n);
    std::iota(x.begin(), x.end(), 1.f);
    CHECK(sum_of(n, [&](u64 i) { return x[i]; }) == static_cast<float>(n * (n + 1) / 2));
    for (u32 at = 0; at < n; ++at) {
      std::vector<float> below_zero(n, -3.f);
      below_zero[at] = -2;
      CHECK(greatest_of(below_zero.data(), n) == -2);
    }
  }
}

// SPDX-License-Identifier: MIT
// key_timing.cpp: key_timing N: whether the time that a wrong API key takes says how wrong it is: Welch's t of N
// samples each.
#include <cke/serve/guard.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace {

struct samples {
  std::vector<double> seconds{};

  // Without the tenth that the system disturbed most.
  void mean_and_variance(double limit, double& n, double& mean, double& variance) const {
    double sum = 0, squares = 0;
    n = 0;
    for (const double s : seconds)
      if (s <= limit) ++n, sum += s, squares += s * s;
    mean = sum / n, variance = squares / n - mean * mean;
  }
};

double welch(const samples& a, const samples& b) {
  std::vector<double> all(a.seconds);
  all.insert(all.end(), b.seconds.begin(), b.seconds.end());
  const auto at = all.begin() + static_cast<std::ptrdiff_t>(all.size() * 9 / 10);
  std::nth_element(all.begin(), at, all.end());
  double n[2], mean[2], variance[2];
  a.mean_and_variance(*at, n[0], mean[0], variance[0]), b.mean_and_variance(*at, n[1], mean[1], variance[1]);
  return (mean[0] - mean[1]) / std::sqrt(variance[0] / n[0] + variance[1] / n[1]);
}

// In an order that nothing can learn. `check`: what takes its time.
template <class F> double compare(const std::string& one, const std::string& other, std::size_t count, F check) {
  std::mt19937 order(1);
  samples of[2];
  std::string given;
  given.reserve(512);
  while (of[0].seconds.size() < count || of[1].seconds.size() < count) {
    const bool second = order() & 1;
    given = second ? other : one;  // at one place in memory, whichever it is
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < 8; ++i) check(given);
    of[second].seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  }
  return welch(of[0], of[1]);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100'000;
  const std::string key(64, 'k');
  const cke::serve::guard door({.hosts = {}, .keys = {key, std::string(64, 'q')}, .cors_origin = {}});
  const auto ours = [&](const std::string& given) {
    auto found = door.key_of(given);
    asm volatile("" : : "m"(found));
  };
  const auto usual = [&](const std::string& given) {  // leaves at the first difference
    std::size_t i = 0;
    while (i < key.size() && given[i + 7] == key[i]) ++i;
    asm volatile("" : : "m"(i));
  };
  const auto wrong_at = [&](std::size_t i) {
    std::string k = key;
    k[i] = 'x';
    return "Bearer " + k;
  };
  double worst = 0;
  const std::string last = wrong_at(63);
  for (const std::size_t i : {0u, 1u, 31u, 32u, 62u})
    worst = std::max(worst, std::abs(compare(last, wrong_at(i), count, ours)));
  const double control = std::abs(compare(last, wrong_at(0), count, usual));
  std::printf(
      "5 pairs of wrong keys, Welch's t of %zu samples each: at most %.2f (of a comparison that leaves early: %.0f)\n",
      count, worst, control);
  return worst < 4.5 && control > 4.5 ? 0 : 1;
}

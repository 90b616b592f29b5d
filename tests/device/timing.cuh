// SPDX-License-Identifier: MIT
// timing.cuh: how long the device takes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cke/cuda/gpu.cuh>
#include <vector>

namespace device_check {

template <class F> double seconds(F&& f) {
  cke::cuda::check(cudaDeviceSynchronize(), "a wait");
  const auto start = std::chrono::steady_clock::now();
  f();
  cke::cuda::check(cudaDeviceSynchronize(), "a wait");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
// The median of some runs, after two that do not count; before each, prepare(), which does not count either.
template <class F, class Prepare> double median_seconds(unsigned runs, Prepare&& prepare, F&& f) {
  std::vector<double> all;
  for (unsigned i = 0; i < runs + 2; ++i) {
    prepare();
    all.push_back(seconds(f));
  }
  all.erase(all.begin(), all.begin() + 2);
  std::ranges::sort(all);
  return all[runs / 2];
}
template <class F> double median_seconds(unsigned runs, F&& f) {
  return median_seconds(runs, [] {}, f);
}

}  // namespace device_check

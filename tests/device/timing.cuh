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
    const double t = seconds(f);
    if (i >= 2) all.push_back(t);
  }
  std::ranges::sort(all);
  return all[runs / 2];
}
template <class F> double median_seconds(unsigned runs, F&& f) {
  return median_seconds(runs, [] {}, f);
}
// The same by events on a stream, without what the host takes to begin and to wait.
template <class F> double median_device_seconds(unsigned runs, cudaStream_t stream, F&& f) {
  cudaEvent_t start{}, end{};
  cke::cuda::check(cudaEventCreate(&start), "an event"), cke::cuda::check(cudaEventCreate(&end), "an event");
  std::vector<double> all;
  for (unsigned i = 0; i < runs + 2; ++i) {
    float ms{};
    cke::cuda::check(cudaEventRecord(start, stream), "an event");
    f();
    cke::cuda::check(cudaEventRecord(end, stream), "an event");
    cke::cuda::check(cudaEventSynchronize(end), "a wait");
    cke::cuda::check(cudaEventElapsedTime(&ms, start, end), "an event");
    if (i >= 2) all.push_back(ms * 1e-3);
  }
  cudaEventDestroy(start), cudaEventDestroy(end);
  std::ranges::sort(all);
  return all[runs / 2];
}

}  // namespace device_check

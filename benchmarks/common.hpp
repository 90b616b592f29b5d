// SPDX-License-Identifier: MIT
// common.hpp: data for kernel benchmarks, and rates relative to the machine's peaks, measured in the same run.
#pragma once

#include <benchmark/benchmark.h>

#include <cke/core/dtype.hpp>
#include <cke/tune/peaks.hpp>
#include <random>
#include <string>
#include <vector>

namespace bench {

using namespace cke;
using namespace cke::tune;

inline std::vector<float> normal(u64 n, u32 seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> value;
  std::vector<float> out(n);
  for (float& x : out) x = value(random);
  return out;
}

// The peaks of one core, measured on first use.
template <class Isa> const machine_peaks& peaks() {
  static const machine_peaks now = machine_probe<Isa>(1).measure();
  return now;
}
// The peak rate of the dot products for this type of number.
template <class Isa> double peak_gops(dtype t) {
  const machine_peaks& p = peaks<Isa>();
  return t == dtype::bf16 ? p.bf16_gops : t == dtype::f32 || t == dtype::f16 ? p.f32_gops : p.int8_gops;
}

// Reports an iteration's work as rates and as fractions of the peaks.
template <class Isa> void report(benchmark::State& state, double ops, double bytes, dtype t) {
  const auto rate = [&](const char* name, double of_an_iteration) {
    state.counters[name] = benchmark::Counter(of_an_iteration, benchmark::Counter::kIsIterationInvariantRate);
  };
  rate("GOP/s", ops / 1e9), rate("of_dots", ops / 1e9 / peak_gops<Isa>(t));
  rate("GB/s", bytes / 1e9), rate("of_read", bytes / 1e9 / peaks<Isa>().read_gbs);
}

inline std::string label(const char* what, dtype t, std::string_view isa) {
  return std::string(what) + '/' + std::string(info(t).name) + '/' + std::string(isa);
}

}  // namespace bench

// SPDX-License-Identifier: MIT
// common.hpp: data for kernel benchmarks, and rates beside the peaks of the machine, measured in the same run.
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

// Of one core, as the benchmarks are; measured when first asked for.
template <class Isa> const machine_peaks& peaks() {
  static const machine_peaks now = machine_probe<Isa>(1).measure();
  return now;
}
// Operations of the dots that numbers of this type are multiplied with.
template <class Isa> double peak_gops(dtype t) {
  const machine_peaks& p = peaks<Isa>();
  return t == dtype::bf16 ? p.bf16_gops : t == dtype::f32 || t == dtype::f16 ? p.f32_gops : p.int8_gops;
}

// What an iteration does, as rates and as shares of the peaks.
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

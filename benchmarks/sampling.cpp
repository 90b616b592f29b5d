// SPDX-License-Identifier: MIT
// sampling.cpp: sampling on one core, from the logits of a vocabulary of 151,936.
#include <cke/text/sampling/sampler.hpp>

#include "common.hpp"

namespace {

using namespace cke;
using namespace cke::tune;
using namespace cke::text;

void sample(benchmark::State& state, const sampling& how) {
  const auto logits = bench::normal(151936);
  const std::vector<u32> history{1, 2, 3, 2, 1};
  sampler s(static_cast<u32>(logits.size()), how);
  u32 position = 0;
  for (auto _ : state) benchmark::DoNotOptimize(s.sample(logits, history, position++));
  state.SetBytesProcessed(state.iterations() * static_cast<i64>(4 * logits.size()));
}

}  // namespace

BENCHMARK_CAPTURE(sample, greedy, {});
BENCHMARK_CAPTURE(sample, temperature, {.temperature = 1});
BENCHMARK_CAPTURE(sample, top_k_40, {.temperature = 1, .top_k = 40});
BENCHMARK_CAPTURE(sample, top_p_95, {.temperature = 1, .top_p = 0.95f});
BENCHMARK_CAPTURE(sample, top_k_40_top_p_95, {.temperature = 1, .top_k = 40, .top_p = 0.95f});
BENCHMARK_CAPTURE(sample, min_p_5, {.temperature = 1, .min_p = 0.05f});
BENCHMARK_CAPTURE(sample, penalties, {.repetition_penalty = 1.1f, .presence_penalty = 0.5f});

BENCHMARK_MAIN();

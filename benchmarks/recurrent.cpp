// SPDX-License-Identifier: MIT
// recurrent.cpp: recurrent layers on one core, shaped as in Qwen3.5 0.8B and Nemotron-H 8B; rates are multiplications.
#include <cke/graph/plan.hpp>
#include <cke/kernels/gated_delta.hpp>
#include <cke/kernels/short_conv.hpp>
#include <cke/kernels/state_scan.hpp>

#include "common.hpp"

namespace {

using namespace cke;
using namespace cke::tune;
using namespace cke::graph;
using namespace cke::kernels;
using isa_of_machine = isa::native;

// Numbers aligned to a cache line, as in a model.
struct aligned {
  std::vector<float> all;
  explicit aligned(std::vector<float> numbers) : all(numbers.size() + 16) {
    std::copy(numbers.begin(), numbers.end(), begin());
  }
  float* begin() { return reinterpret_cast<float*>(align_up(reinterpret_cast<std::uintptr_t>(all.data()), u64{64})); }
  std::byte* bytes() { return reinterpret_cast<std::byte*>(begin()); }
};

// Runs tokens of one sequence through one layer. A page holds 1024 positions.
template <opcode Op> void pass(benchmark::State& state, const params& p, u32 units, u64 state_floats,
                               std::vector<u32> widths, u32 out_width, double products) {
  const auto tokens = static_cast<u32>(state.range(0));
  constexpr u32 blocks = 8;
  aligned page{std::vector<float>(state_floats)}, out{std::vector<float>(u64{tokens} * row_stride(out_width))},
      scratch{std::vector<float>(1 << 18)};
  const std::vector<std::byte*> pages(blocks, page.bytes());
  const segment all{0, tokens, 1, pages.data()};
  std::vector<aligned> rows, weights;
  work w;
  w.tokens = tokens, w.segments = {&all, 1}, w.by = split::kv_heads, w.scratch = scratch.bytes(), w.kv = {0, 0, blocks};
  for (u32 i = 0; i < widths.size(); ++i) {
    rows.emplace_back(bench::normal(u64{tokens} * row_stride(widths[i]), i));
    w.in[i] = {rows[i].bytes(), widths[i], row_stride(widths[i])};
  }
  for (u32 i = 0; i < 3; ++i) weights.emplace_back(bench::normal(1 << 16, i)), w.weight[i] = weights[i].bytes();
  w.out[0] = {out.bytes(), out_width, row_stride(out_width)};
  for (auto _ : state) {
    for (u32 unit = 0; unit < units; ++unit) kernel_of<Op, dtype::f32, isa_of_machine>()(p, w, unit);
    benchmark::ClobberMemory();
  }
  bench::report<isa_of_machine>(state, 2 * products * tokens, 0, dtype::f32);
  state.counters["us/token"] =
      benchmark::Counter(1e-6 * tokens, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void delta(benchmark::State& state) {
  const delta_params p{.key_heads = 16, .value_heads = 16, .key_dim = 128, .value_dim = 128, .eps = 1e-6};
  pass<opcode::gated_delta>(state, p, 16, u64{16} * 128 * 128, {2048, 2048, 2048, 2048, 32}, 2048, 4. * 16 * 128 * 128);
}
void conv(benchmark::State& state) {
  const conv_act_params p{{.channels = 2048, .taps = 4}, activation::silu};
  pass<opcode::causal_conv>(state, p, 2048 / unit_rows, u64{3} * 2048, {2048}, 2048, 4. * 2048);
}
void scan(benchmark::State& state) {
  const scan_params p{.heads = 128, .groups = 8, .head_dim = 64, .state = 128};
  pass<opcode::state_scan>(state, p, 128, u64{128} * 128 * 64, {128 * 64 + 2 * 8 * 128, 128 * 64, 128}, 128 * 64,
                           3. * 128 * 128 * 64);
}

}  // namespace

int main(int argc, char** argv) {
  for (const auto& [name, function] :
       {std::pair("gated_delta", &delta), std::pair("causal_conv", &conv), std::pair("state_scan", &scan)})
    benchmark::RegisterBenchmark(bench::label(name, dtype::f32, isa_of_machine::name).c_str(), function)
        ->Arg(1)
        ->Arg(512);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}

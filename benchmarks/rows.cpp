// SPDX-License-Identifier: MIT
// rows.cpp: row-wise steps on one core: norm, norm and quantise, gated activation.
#include <cke/kernels/rows.hpp>

#include "common.hpp"

namespace {

using namespace cke;
using namespace cke::tune;
using namespace cke::kernels;
using isa_of_machine = isa::native;

// Arguments: width.
template <opcode Op> void row(benchmark::State& state, dtype out_type) {
  const auto width = static_cast<u32>(state.range(0));
  const params p = [&] {
    if constexpr (std::is_same_v<params_of<Op>, norm_params>) return norm_params{.cols = width, .eps = 1e-6};
    else return act_params{.cols = width, .act = activation::silu};
  }();
  const auto in = bench::normal(2 * width), weight = bench::normal(width, 2);
  std::vector<float> out(2 * width), scratch(width);
  work w;
  w.tokens = 1, w.by = split::per_thread;
  w.in[0] = {reinterpret_cast<std::byte*>(const_cast<float*>(in.data())), 2 * width, 2 * width, dtype::f32};
  w.out[0] = {reinterpret_cast<std::byte*>(out.data()), width, width, out_type};
  w.weight[0] = reinterpret_cast<const std::byte*>(weight.data());
  w.scratch = reinterpret_cast<std::byte*>(scratch.data());
  for (auto _ : state) {
    kernel_of<Op, dtype::f32, isa_of_machine>()(p, w, 0);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 4 * width);
}

void add(const char* op, auto function, dtype out, std::initializer_list<i64> widths) {
  auto* const b = benchmark::RegisterBenchmark(bench::label(op, out, isa_of_machine::name).c_str(), function, out);
  for (const i64 width : widths) b->Arg(width);
}

}  // namespace

int main(int argc, char** argv) {
  add("norm", row<opcode::rmsnorm>, dtype::f32, {1024, 2560});
  for (const dtype out : {dtype::q8_0, dtype::bf16}) {
    add("norm_quantize", row<opcode::norm_quantize>, out, {1024, 2560});
    add("act_mul_quantize", row<opcode::act_mul_quantize>, out, {3072, 9728});
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}

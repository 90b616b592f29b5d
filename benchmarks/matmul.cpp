// SPDX-License-Identifier: MIT
// matmul.cpp: products on one core: 1 to 512 tokens in each format, from memory and from cache; packing, operands.
#include <sys/mman.h>

#include <array>
#include <cke/kernels/formats/file_rows.hpp>
#include <cke/kernels/matmul.hpp>
#include <cstdlib>
#include <memory>

#include "common.hpp"

namespace {

using namespace cke;
using namespace cke::tune;
using namespace cke::kernels;
using bench::normal;

struct free_bytes {
  void operator()(std::byte* p) const { std::free(p); }
};
using buffer = std::unique_ptr<std::byte, free_bytes>;
// Huge pages, as in the runtime's arena.
buffer allocate(u64 bytes) {
  constexpr u64 huge = 2 << 20;
  bytes = align_up(bytes, huge);
  buffer p(static_cast<std::byte*>(std::aligned_alloc(huge, bytes)));
  madvise(p.get(), bytes, MADV_HUGEPAGE);
  return p;
}

// Offsets of the f16 scales in a block.
constexpr std::array<u32, 2> scales_of(dtype t) {
  if (t == dtype::q6_k) return {208, 208};
  return {0, t == dtype::q4_k || t == dtype::q5_k ? 2u : 0u};
}

// Numbers in a file's encoding. If cke has no conversion from f32: random codes with the scale 2^-7.
template <dtype F> std::vector<std::byte> encoded(const std::vector<float>& values) {
  std::vector<std::byte> out(bytes_of(F, values.size()));
  if constexpr (convertible(F)) {
    from_f32(F, values.data(), static_cast<u32>(values.size()), out.data());
  } else {
    std::mt19937 random(2);
    for (std::byte& b : out) b = static_cast<std::byte>(random());
    for (u64 block = 0; block < out.size(); block += info(F).bytes)
      for (const u32 at : scales_of(F)) write(&out[block + at], to_f16(0x1p-7f));
  }
  return out;
}

// Calls f(unit, rows) for units that all have the same 32 rows of a file.
template <dtype F, class Isa>
auto each_unit(u32 units, const std::byte* const* rows, dtype source) {
  return [=](auto&& f) {
    for (u32 u = 0; u < units; ++u) f(u, file_rows<F, Isa>{unit_rows, rows, source});
  };
}

// `rows` rows of weights and n tokens; the rows repeat 32 random ones, since values do not affect speed.
template <dtype F, class Isa> struct problem {
  using operand = typename matmul<F, Isa>::x_operand;
  u32 units, cols, tokens;
  buffer weights, x;
  u64 weight_bytes;

  problem(u32 rows, u32 c, u32 n)
      : units(rows / unit_rows),
        cols(c),
        tokens(n),
        weights(allocate(packed<F, Isa>::bytes(units, c))),
        x(allocate(operand::bytes(n, c))) {
    const auto values = normal(u64{unit_rows} * cols);
    const auto stored = encoded<F>(values);
    const std::byte* from[unit_rows];
    for (u32 i = 0; i < unit_rows; ++i) from[i] = &stored[i * bytes_of(F, cols)];
    weight_bytes = packed<F, Isa>::pack(weights.get(), units, cols, each_unit<F, Isa>(units, from, F));
    for (u32 t = 0; t < n; ++t) operand::put(x.get(), n, cols, t, 0, cols, &values[u64{t % unit_rows} * cols]);
  }
  void run() const {
    for (u32 u = 0; u < units; ++u)
      matmul<F, Isa>::unit(weights.get() + u * packed<F, Isa>::unit_bytes(cols), x.get(), operand::token_bytes(cols),
                           tokens, cols, [](u32, u32, const float* out) { benchmark::DoNotOptimize(*out); });
  }
};

// Arguments: rows, cols, tokens.
template <dtype F, class Isa> void multiply(benchmark::State& state) {
  const problem<F, Isa> p(static_cast<u32>(state.range(0)), static_cast<u32>(state.range(1)),
                          static_cast<u32>(state.range(2)));
  for (auto _ : state) p.run();
  bench::report<Isa>(state, 2.0 * p.units * unit_rows * p.cols * p.tokens, static_cast<double>(p.weight_bytes), F);
}

template <dtype F, class Isa> void pack(benchmark::State& state) {
  const u32 cols = 1024, units = 64;
  const auto values = normal(u64{unit_rows} * cols);
  const auto file = encoded<F>(values);
  const std::byte* rows[unit_rows];
  for (u32 i = 0; i < unit_rows; ++i) rows[i] = file.data() + i * bytes_of(F, cols);
  const buffer out = allocate(packed<F, Isa>::bytes(units, cols));
  for (auto _ : state) {
    packed<F, Isa>::pack(out.get(), units, cols, each_unit<F, Isa>(units, rows, F));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<i64>(units * file.size()));
}

template <dtype F> void put(benchmark::State& state) {
  using operand = kernels::operand<F, isa::native>;
  const u32 n = static_cast<u32>(state.range(0)), cols = 1024;
  const auto values = normal(cols);
  const buffer out = allocate(operand::bytes(n, cols));
  for (auto _ : state)
    for (u32 t = 0; t < n; ++t) {
      operand::put(out.get(), n, cols, t, 0, cols, values.data());
      benchmark::ClobberMemory();
    }
  state.SetItemsProcessed(state.iterations() * n * cols);
}

// "memory": more weights than any cache holds, as in a pass of few rows.
template <dtype F, class Isa> void add() {
  for (const i64 tokens : {1, 2, 4, 8, 16})
    benchmark::RegisterBenchmark(bench::label("memory", F, Isa::name).c_str(), multiply<F, Isa>)
        ->ArgNames({"rows", "cols", "tokens"})
        ->Args({98304, 1024, tokens});
  for (const i64 cols : {1024, 3072})
    for (const i64 tokens : {1, 2, 4, 8, 16, 512})
      benchmark::RegisterBenchmark(bench::label("cache", F, Isa::name).c_str(), multiply<F, Isa>)
          ->ArgNames({"rows", "cols", "tokens"})
          ->Args({128, cols, tokens});
  benchmark::RegisterBenchmark(bench::label("pack", F, Isa::name).c_str(), pack<F, Isa>);
}

template <class Isa, dtype... Fs> void add_formats() { (add<Fs, Isa>(), ...); }
template <class Isa> void add_isa() {
  add_formats<Isa, dtype::f32, dtype::f16, dtype::bf16, dtype::q8_0, dtype::q4_0, dtype::q4_k, dtype::q5_k,
              dtype::q6_k>();
}

}  // namespace

int main(int argc, char** argv) {
  add_isa<isa::native>();
  if constexpr (!std::is_same_v<isa::native, isa::avx2> && !std::is_same_v<isa::native, isa::scalar>)
    add_isa<isa::avx2>();
  for (const i64 tokens : {1, 16}) {
    benchmark::RegisterBenchmark("put/bf16", put<dtype::bf16>)->Arg(tokens);
    benchmark::RegisterBenchmark("put/q8_0", put<dtype::q8_0>)->Arg(tokens);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}

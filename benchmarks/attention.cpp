// SPDX-License-Identifier: MIT
// attention.cpp: attention on one core, 16 query heads of 128 on 8: decode at some depth, a prompt chunk, the store;
// and all patches of an image, 16 heads of 72.
#include <cke/graph/plan.hpp>
#include <cke/kernels/attention/attention_steps.hpp>
#include <cke/runtime/arena.hpp>
#include <cke/runtime/pass.hpp>

#include "common.hpp"

namespace {

using namespace cke;
using namespace cke::tune;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

constexpr head_shape p{.heads = 16, .kv_heads = 8, .head_dim = 128};
constexpr attention_params text{p}, tower{.shape = {16, 16, 72}, .bidirectional = true};
constexpr kv_store_params stores{p.kv_heads, p.head_dim};

// Stores the keys and values of 512 positions.
template <dtype KV, class Isa> void store(benchmark::State& state) {
  constexpr u32 tokens = 512, width = p.kv_heads * p.head_dim;
  const u64 block = kv_cache<KV, Isa>::block_bytes(p.head_dim), page = block * p.kv_heads,
            rows = u64{tokens} * row_stride(width) * 4;
  arena memory(tokens / key_block * page + 2 * rows + pass_rows::bytes(tokens) + 4096);
  std::vector<std::byte*> pages(tokens / key_block);
  for (std::byte*& at : pages) at = memory.take(page);
  pass_rows all(memory, tokens);
  all.add(std::vector<u32>(tokens), 0, pages.data(), nullptr);
  const pass now = all.all();
  work w;
  w.tokens = tokens, w.segments = now.segments, w.segment_of = now.segment_of, w.by = split::tokens, w.kv = {0, block};
  w.in[0] = w.in[1] = {nullptr, width, row_stride(width), dtype::f32};
  w.in[0].data = memory.take(rows), w.in[1].data = memory.take(rows);
  const auto numbers = bench::normal(width);
  for (const view& v : {w.in[0], w.in[1]})
    for (u32 t = 0; t < tokens; ++t) std::copy(numbers.begin(), numbers.end(), v.row(t));
  for (auto _ : state) {
    for (u32 unit = 0; unit < units_of(stores, w.by, tokens, 0); ++unit)
      kernel<opcode::kv_store, KV, Isa>::run(stores, w, unit);
    benchmark::ClobberMemory();
  }
  bench::report<Isa>(state, 0, static_cast<double>(2 * rows) + static_cast<double>(tokens / key_block * page), KV);
}

// Arguments: tokens of the pass, positions before them.
template <dtype KV, class Isa> void attend(benchmark::State& state, const attention_params& scores) {
  const head_shape& p = scores.shape;
  const auto tokens = static_cast<u32>(state.range(0)), depth = static_cast<u32>(state.range(1));
  const u32 positions = static_cast<u32>(align_up(depth + tokens, key_block)), width = p.heads * p.head_dim;
  const u64 block = kv_cache<KV, Isa>::block_bytes(p.head_dim), rows = u64{tokens} * row_stride(width) * 4;
  arena memory(positions / key_block * block * p.kv_heads + 2 * rows +
               kernel<opcode::attend, KV, Isa>::scratch_bytes(scores, tokens) + pass_rows::bytes(tokens) + 4096);
  std::vector<std::byte*> pages(positions / key_block);
  for (std::byte*& page : pages) page = memory.take(block * p.kv_heads);
  const std::vector<u32> ids(tokens);
  pass_rows all(memory, tokens);
  all.add(ids, depth, pages.data(), nullptr);
  const pass now = all.all();
  work w;
  w.tokens = tokens, w.segments = now.segments, w.segment_of = now.segment_of, w.tiles = now.tiles;
  w.by = tokens <= decode_rows ? split::kv_heads : split::tiles;
  w.kv = {0, block};
  w.in[0] = w.out[0] = {nullptr, width, row_stride(width), dtype::f32};
  w.in[0].data = memory.take(rows), w.out[0].data = memory.take(rows);
  w.scratch = memory.take(kernel<opcode::attend, KV, Isa>::scratch_bytes(scores, tokens));
  const auto numbers = bench::normal(width);
  for (u32 t = 0; t < tokens; ++t) std::copy(numbers.begin(), numbers.end(), w.in[0].row(t));
  for (u32 h = 0; h < p.kv_heads; ++h)
    for (u32 at = 0; at < depth + tokens; ++at)
      kv_cache<KV, Isa>::store(blocks_of(w, now.segments[0], h), at, p.head_dim, &numbers[at % 64],
                               &numbers[64 + at % 64]);

  for (auto _ : state) {
    for (u32 unit = 0; unit < units_of(scores, w.by, tokens, 0, static_cast<u32>(now.tiles.size())); ++unit)
      kernel<opcode::attend, KV, Isa>::run(scores, w, unit);
    benchmark::ClobberMemory();
  }
  const double pairs = tokens * (depth + (scores.bidirectional ? tokens : (tokens + 1) / 2.0));
  bench::report<Isa>(state, 4 * pairs * p.heads * p.head_dim,
                     2.0 * (depth + tokens) * p.kv_heads * p.head_dim * info(KV).bytes / info(KV).block,
                     KV == dtype::bf16 || KV == dtype::q8_0 ? dtype::bf16 : dtype::f32);
}

template <class Isa, dtype... KVs> void add() {
  const auto one = [](const char* what, dtype kv, auto function, const attention_params& scores) {
    const std::string name = bench::label(what, kv, Isa::name);
    return benchmark::RegisterBenchmark(name.c_str(), function, scores)->ArgNames({"tokens", "depth"});
  };
  const auto both = [&](dtype kv, auto function) {
    auto* const b = one("attend", kv, function, text);
    for (const i64 depth : {128, 1024, 4096, 16384}) b->Args({1, depth});
    for (const i64 depth : {0, 1024, 4096}) b->Args({512, depth});
    one("tower", kv, function, tower)->Args({4096, 0});
  };
  (both(KVs, attend<KVs, Isa>), ...);
  (benchmark::RegisterBenchmark(bench::label("store", KVs, Isa::name).c_str(), store<KVs, Isa>), ...);
}

}  // namespace

int main(int argc, char** argv) {
  add<isa::native, dtype::f32, dtype::f16, dtype::bf16, dtype::q8_0>();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}

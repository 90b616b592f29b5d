// SPDX-License-Identifier: MIT
// unrolled.cpp [DIR]: one thread of a small model as straight-line code, beside the same model over tables, in turns:
//   bench_unrolled --benchmark_enable_random_interleaving=true --benchmark_repetitions=9
#include <cke/hf.hpp>
#include <cke/qwen3.hpp>
#include <cke/unrolled.hpp>

#include <iostream>

#include "common.hpp"

namespace {

using namespace cke;

struct tiny : qwen3<{.vocab = 1536,
                     .dim = 128,
                     .hidden = 384,
                     .layers = 5,
                     .heads = 4,
                     .kv_heads = 2,
                     .head_dim = 32,
                     .rope = {.theta = 1e4}}> {};

constexpr u32 before = 128, tokens = 32;

// Tokens after `before` others, one by one; or a prompt of `before` tokens.
template <class Formats, class How> void run(const std::string& dir, const std::string& name) {
  using model_type = Model<tiny, Formats, default_kv<Formats>, isa::native, How>;
  const auto model = model_type::load(hf(dir), {.threads = 1, .context = 512});
  std::vector<u32> ids(before + tokens);
  for (u32 i = 0; i < ids.size(); ++i) ids[i] = i * 37 % model_type::vocab_size;
  const auto add = [&](const char* what, u32 count, auto pass) {
    benchmark::RegisterBenchmark(
        (std::string(what) + '/' + name).c_str(), [=, session = model.session()](benchmark::State& state) mutable {
          session.feed(std::span(ids).first(before));
          for (auto _ : state) pass(session, std::span<const u32>(ids));
          state.counters["tokens/s"] = benchmark::Counter(count, benchmark::Counter::kIsIterationInvariantRate);
        });
  };
  add("decode", tokens, [](auto& session, std::span<const u32> all) {
    session.rewind(before);
    for (const u32 id : all.subspan(before)) session.feed(id);
  });
  add("prefill", before, [](auto& session, std::span<const u32> all) {
    session.reset();
    session.feed(all.first(before));
  });
}

template <class Formats> void run_both(const std::string& dir, const std::string& name) {
  run<Formats, runtime::by_tables>(dir, name + "/tables");
  run<Formats, unrolled>(dir, name + "/unrolled");
}

}  // namespace

int main(int argc, char** argv) try {
  benchmark::Initialize(&argc, argv);
  const std::string dir = argc > 1 ? argv[1] : "assets/tiny";
  run_both<Q8_0>(dir, "q8_0");
  run_both<F32>(dir, "f32");
  benchmark::RunSpecifiedBenchmarks();
} catch (const Error& e) { return std::cerr << "bench_unrolled: " << e.what() << '\n', 1; }

// SPDX-License-Identifier: MIT
// passes.cpp: fixed passes of a fixed random model on one thread, for callgrind to count (check.py).
#include <valgrind/callgrind.h>

#include <cke/models/qwen3.hpp>

#include "../runtime/random_model.hpp"

namespace {

using namespace cke;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::kernels;
using namespace cke::runtime;
using namespace cke::text;

using small = qwen3<{.vocab = 512,
                     .dim = 128,
                     .hidden = 384,
                     .layers = 2,
                     .heads = 4,
                     .kv_heads = 2,
                     .head_dim = 32,
                     .rope = {.theta = 1e4, .max_position = 512}}>;

constexpr u32 before = 160, prompt = 96, tokens = 8;

template <class F> void counted(const std::string& what, F passes) {
  CALLGRIND_START_INSTRUMENTATION;
  passes();
  CALLGRIND_STOP_INSTRUMENTATION;
  CALLGRIND_DUMP_STATS_AT(what.c_str());
}

// Every count is of the work alone: the model is loaded, the memory touched.
template <class Formats> void count(const std::string& format) {
  using program = cke::graph::program<small, Formats>;
  using loaded = cke::runtime::loaded<program, default_kv<Formats>, isa::native>;
  const auto weights = random_model::tensors::of<program>();
  const auto model = std::make_shared<loaded>(weights.index(), "random", naming::hf, names_of<small>(),
                                              model_options{.threads = 1, .context = 512, .chunk = 256});
  const std::vector<u32> ids = random_model::ids(before + prompt, program::vocab);
  sequence s(model);
  s.feed(ids);  // as far as any count goes
  s.rewind(before);
  counted("prefill " + format, [&] { s.feed(std::span(ids).subspan(before)); });
  s.rewind(before);
  counted("decode " + format, [&] {
    for (u32 i = 0; i < tokens; ++i) s.feed(ids[before + i]);
  });
}

}  // namespace

int main() {
  static_assert(std::is_same_v<isa::native, isa::avx2>, "valgrind knows no AVX-512");
  count<Q8_0>("q8_0");
  count<BF16>("bf16");
}

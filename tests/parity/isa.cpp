// SPDX-License-Identifier: MIT
// isa.cpp: the same checkpoint on every instruction set that the compiler was allowed to use.
#include "parity.hpp"

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

namespace {

template <class Isa> concept available =
    std::is_same_v<Isa, isa::scalar> || requires { typename isa::xsimd_arch<Isa>::type; };

template <class Isa> void check_on(const checkpoint& from, const parity::expected& want) {
  if constexpr (available<Isa>) {
    using model = Model<from_config<configs::qwen3_odd>, F32, dtype::f32, Isa>;
    CAPTURE(Isa::name);
    parity::check<model>(from, want, parity::exact);

    // one pass, and id by id on one thread: the same bits
    const std::vector<float> all = parity::logits_of(model::load(from, parity::options(96)), want.ids);
    const model alone = model::load(from, {.threads = 1, .context = 96});
    auto session = alone.session();
    std::vector<float> steps;
    for (const u32 id : want.ids) {
      session.feed(id);
      steps.insert(steps.end(), session.logits().begin(), session.logits().end());
    }
    CHECK(steps == all);
  }
}

}  // namespace

TEST_CASE("parity: every isa of this build is as close to transformers as the native one") {
  const checkpoint from = parity::open("qwen3_odd");
  const parity::expected want(parity::model_path("qwen3_odd/"));
  check_on<isa::scalar>(from, want);
  check_on<isa::avx2>(from, want);
  check_on<isa::avx512>(from, want);
  check_on<isa::neon>(from, want);
}

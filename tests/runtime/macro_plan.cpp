// SPDX-License-Identifier: MIT
// macro_plan.cpp: an unfused program runs letter by letter, through adapters that can be taken away, replaced or wrong.
#include <doctest/doctest.h>

#include <cmath>

#include "cke/from_config.hpp"
#include "cke/models/qwen3.hpp"
#include "cke/runtime/table_executor.hpp"
#include "random_model.hpp"

namespace macro_plan_test {

using namespace cke;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;
using random_model::run_one;

namespace {

constexpr char config[] = R"({"model_type": "qwen3", "vocab_size": 96, "hidden_size": 48, "intermediate_size": 80,
  "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 12, "rms_norm_eps": 1e-6,
  "tie_word_embeddings": false, "rope_parameters": {"rope_type": "default", "rope_theta": 10000}})";
using M = from_config<config>;
using P = program<M, F32, false>;
using isa_type = cke::isa::native;
using executor_type = table_executor<P, dtype::f32, isa_type>;
using report = step_report<isa_type>;
constexpr u32 tokens = 7;

using state = random_model::state_of<P, dtype::f32, isa_type>;

struct machine {
  team threads{2};
  random_model::tensors numbers = random_model::tensors::of<P>();
  weights packed{packed_layout_of<P, isa_type>, numbers.index(), "test", naming::hf, names_of<M>(), threads, {}};

  // All logits, and what `after` makes of each step.
  std::vector<float> run(executor_type& on, const executor_type::hook& after = {}) {
    auto s = random_model::lone<state>(32);
    const u32 ids[tokens]{5, 90, 17, 3, 3, 64, 41};
    std::vector<float> logits;
    CHECK(run_one(
        on, ids, tokens, s, [&](u32, const float* row) { logits.insert(logits.end(), row, row + P::vocab); },
        executor_type::debugging{.after = after}));
    return logits;
  }
  executor_type made(const executor_type::adapters& steps = executor_type::all_adapters(),
                     const letter_adapters& letters = executor_type::all_letters()) {
    return {random_model::compiled<P, dtype::f32, isa_type>,
            state::layout::facts,
            packed,
            threads,
            {32, 16, 16},
            steps,
            letters};
  }
};

// What all steps wrote, each output by itself.
struct written {
  u32 number, layer;
  opcode op;
  std::vector<float> values;
};
std::vector<written> all_of(machine& m, executor_type& on) {
  std::vector<written> all;
  m.run(on, [&](const report& r) {
    for (u32 o = 0; o < r.outputs.size(); ++o) all.push_back({r.number, r.layer, r.step.op, r.values(o)});
  });
  return all;
}

}  // namespace

TEST_CASE("macro_plan: letters run as the plans list them, and steps are counted too") {
  machine m;
  executor_type on = m.made();
  u32 next = 0;
  m.run(on, [&](const report& r) { CHECK(r.number == next++); });
  CHECK(next == on.steps());
  CHECK(on.steps() == P::count() - P::count(opcode::residual_save));  // the contract's adds carry the stream
  CHECK(on.counters().total() == on.steps());
  CHECK(on.counters().of(opcode::matmul) == P::count(opcode::matmul));
  u64 letters = 0;
  const auto add = [&](const code& c) {
    for (const macro_instruction& i : contract(c).instructions) {
      ++letters;
      CHECK(on.letter_counters().of(i.op) > 0);
    }
  };
  add(P::header_code()), add(P::footer_code());
  for (u32 l = 0; l < P::layers; ++l) add(*P::bodies[P::variants.of[l]]);
  CHECK(on.letter_counters().total() == letters);
  CHECK(on.letter_counters().of(opcode::multihead_attention) == 3);
  CHECK(on.letter_counters().of(opcode::residual_add) == 6);
  CHECK(on.letter_counters().of(opcode::rmsnorm) == 7);
}

TEST_CASE("macro_plan: a letter without an adapter is refused when the plan is loaded") {
  machine m;
  for (const opcode op : {opcode::embedding, opcode::multihead_attention, opcode::swiglu, opcode::logits}) {
    letter_adapters some = executor_type::all_letters();
    some[static_cast<u8>(op)] = nullptr;
    const auto failed = random_model::failure_of([&] { m.made(executor_type::all_adapters(), some); });
    CHECK(failed.code == errc::unsupported_opcode);
    CHECK(failed.text == "letter " + std::string(name(op)) + ": expected an adapter, found none");
  }
}

TEST_CASE("macro_plan: a backend may run a letter in its own way") {
  machine m;
  executor_type usual = m.made();
  const std::vector<float> want = m.run(usual);
  letter_adapters own = executor_type::all_letters();
  own[static_cast<u8>(opcode::rmsnorm)] = [](const letter_call& c) {  // in double, on one thread
    if (c.thread) return;
    const auto p = decode<rmsnorm_v1>(c.plan.param_blocks[c.letter.param_block]);
    const float* const weight = reinterpret_cast<const float*>(c.weight[0]);
    for (u32 t = 0; t < c.tokens; ++t) {
      double sum = 0;
      for (u32 i = 0; i < c.in[0].width; ++i) sum += std::pow(static_cast<double>(c.in[0].row(t)[i]), 2);
      const double by = 1 / std::sqrt(sum / c.in[0].width + static_cast<double>(p.eps));
      for (u32 i = 0; i < c.in[0].width; ++i)
        c.out[0].row(t)[i] = static_cast<float>(static_cast<double>(c.in[0].row(t)[i]) * by *
                                                static_cast<double>(weight[i] + p.weight_offset));
    }
  };
  executor_type other = m.made(executor_type::all_adapters(), own);
  bool seen = false;
  const std::vector<float> got = m.run(other, [&](const report& r) { seen |= r.step.op == opcode::rmsnorm; });
  CHECK(!seen);  // no step of those letters ran
  CHECK(other.letter_counters().of(opcode::rmsnorm) == 7);
  REQUIRE(got.size() == want.size());
  float most = 0;
  for (std::size_t i = 0; i < got.size(); ++i) most = std::max(most, std::abs(got[i] - want[i]));
  CHECK(most < 1e-4f);
  CHECK(got != want);  // it was not the same code
}

namespace {
const std::byte* faulty_weight;  // of the layer whose product is wrong
}

TEST_CASE("macro_plan: one wrong lane of one kernel in one layer is the first difference") {
  machine m;
  executor_type good = m.made();
  const std::vector<written> want = all_of(m, good);
  constexpr u32 layer = 1, lane = 5;
  faulty_weight = m.packed.row(layer + 1)[3];  // of v
  auto kernels = executor_type::all_adapters();
  kernels.add(opcode::matmul, dtype::f32, [](const params& p, const work& w, u32 unit) {
    kernel_of<opcode::matmul, kernel_types(dtype::f32), isa_type>()(p, w, unit);
    if (w.weight[0] != faulty_weight || unit != 0) return;
    for (u32 t = 0; t < w.tokens; ++t) w.out[0].row(t)[lane] += 1e-2f;
  });
  executor_type bad = m.made(kernels);
  const std::vector<written> got = all_of(m, bad);
  REQUIRE(got.size() == want.size());
  std::size_t at = 0;
  while (at < got.size() && got[at].values == want[at].values) ++at;
  REQUIRE(at < got.size());
  CHECK(got[at].layer == layer);
  CHECK(got[at].op == opcode::matmul);
  const u32 width = static_cast<u32>(got[at].values.size()) / tokens;
  for (std::size_t i = 0; i < got[at].values.size(); ++i)
    CHECK((got[at].values[i] != want[at].values[i]) == (i % width == lane));
}

}  // namespace macro_plan_test

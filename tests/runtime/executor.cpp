// SPDX-License-Identifier: MIT
// executor.cpp: which rows a pass hands out, and that every layer runs with its own weights and state.
#include "cke/runtime/executor.hpp"

#include <doctest/doctest.h>

#include "mixed_model.hpp"

namespace executor_test {

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;
using namespace cke::text;
using random_model::run_one, random_model::same_bits;

namespace {

// Kinds in an order that is no period, so that layers, variants and states all count differently.
inline constexpr std::array<u8, 4> order{1, 0, 1, 1};
struct uneven
    : network<
          embedding<77, 64>,
          arrange<order,
                  block<residual<
                      rms_norm<64, 1e-6>,
                      attention<attention_options{
                          .dim = 64, .heads = 4, .kv_heads = 2, .head_dim = 18, .rope = {.dims = 18, .theta = 1e4}}>>>,
                  block<residual<rms_norm<64, 1e-6>,
                                 attention<attention_options{.dim = 64,
                                                             .heads = 2,
                                                             .kv_heads = 1,
                                                             .head_dim = 40,
                                                             .rope = {.dims = 8, .theta = 1e4},
                                                             .window = 9}>>,
                        residual<rms_norm<64, 1e-6>, gated_mlp<64, 50, activation::gelu_tanh>>>>,
          rms_norm<64, 1e-6>, head<64, 77, true>> {};

using P = program<uneven, F32>;
constexpr u32 context = 80, vocab = P::vocab;
const std::vector<u32> ids = random_model::ids(context, vocab);

struct machine {
  using state = random_model::state_of<P, dtype::f32, isa::native>;
  random_model::tensors numbers;
  team threads;
  weights packed;
  executor<> run;

  explicit machine(capacity k, u32 n = 2, random_model::tensors t = random_model::tensors::of<P>())
      : numbers(std::move(t)),
        threads(n),
        packed(packed_layout_of<P, isa::native>, numbers.index(), "random", naming::hf, names_of<uneven>(), threads,
               {}),
        run(random_model::compiled<P, dtype::f32, isa::native>, state::layout::facts, packed, threads, k) {}

  std::vector<float> decoded() {
    std::vector<float> out;
    auto s = random_model::lone<state>(context);
    for (u32 i = 0; i < context; ++i)
      run_one(run, std::span(ids).subspan(i, 1), 1, s, [&](u32 row, const float* logits) {
        CHECK(row == 0);
        out.insert(out.end(), logits, logits + vocab);
      });
    CHECK(out.size() == u64{context} * vocab);
    return out;
  }
};

}  // namespace

TEST_CASE("executor: a pass hands out the last rows, in order, as many at once as there is room for") {
  machine one({context, 1, 1}, 1);
  const std::vector<float> want = one.decoded();
  u32 footers = 0;
  const auto count = [](void* user, u32 thread, u32 of, u32 step, u64, u64) {
    if (thread == 0 && of == P::body_count + 1 && step != tracer::waiting &&
        P::footer_code().ops[step].op == opcode::logits)
      ++*static_cast<u32*>(user);
  };
  for (const u32 room : {1u, 3u, 17u, 80u}) {
    machine m({context, 60, room});
    CHECK(m.run.limits().logit_rows == room);
    CHECK(m.run.bytes() > 0);
    for (const u32 rows : {0u, 1u, 2u, 16u, 17u, 59u, 60u}) {
      CAPTURE(room);
      CAPTURE(rows);
      auto s = random_model::lone<machine::state>(context);
      run_one(m.run, std::span(ids).first(11), 0, s, [](u32, const float*) { FAIL("no row was asked for"); });
      CHECK(s.position() == 11);
      footers = 0;
      m.run.watch({count, &footers});
      u32 next = 60 - rows;
      run_one(m.run, std::span(ids).subspan(11, 60), rows, s, [&](u32 row, const float* logits) {
        CHECK(row == next++);
        CHECK(same_bits({logits, vocab}, std::span(want).subspan(u64{11 + row} * vocab, vocab)));
      });
      m.run.watch({});
      CHECK(footers == ceil_div(rows, room));
      CHECK(next == 60);
      CHECK(s.position() == 71);
    }
  }
}

TEST_CASE("executor: rows that nobody wants end with their last state") {
  machine m({context, 60, 60}, 1);
  constexpr u32 last = P::variants.of[P::layers - 1] + 1u;
  static_assert(P::row_end.layer == P::layers - 1);
  struct counts {
    u32 attends = 0, products = 0;  // of the last layer's kind
  } seen;
  const auto count = [](void* user, u32, u32 of, u32 step, u64, u64) {
    if (of != last || step == tracer::waiting) return;
    const opcode op = P::bodies[last - 1]->ops[step].op;
    static_cast<counts*>(user)->attends += attends(op),
        static_cast<counts*>(user)->products += op == opcode::matmul_add;
  };
  m.run.watch({count, &seen});
  for (const u32 tokens : {1u, 16u, 17u, 60u})
    for (const u32 rows : {0u, 1u}) {
      CAPTURE(tokens);
      CAPTURE(rows);
      auto s = random_model::lone<machine::state>(context);
      seen = {};
      run_one(m.run, std::span(ids).first(tokens), rows, s, [](u32, const float*) {});
      const u32 layers = 3 - (rows == 0 && tokens > decode_rows);  // layers 0, 2 and 3 are of that kind
      CHECK(seen.attends == layers);
      CHECK(seen.products == 2 * layers);
    }
}

TEST_CASE("executor: every layer has its own weights and its own caches") {
  const std::vector<float> want = machine({context, 20, 1}).decoded();
  for (u32 layer = 0; layer < P::layers; ++layer)
    for (const char* name : {"self_attn.k_proj.weight", "self_attn.v_proj.weight", "input_layernorm.weight"}) {
      CAPTURE(layer);
      CAPTURE(std::string(name));
      auto t = random_model::tensors::of<P>();
      tensor_ref& changed = t.at("model.layers." + std::to_string(layer) + "." + name);
      const float x = 1 + random_model::tensors::number(changed, 1);
      std::memcpy(const_cast<std::byte*>(changed.bytes.data()) + sizeof x, &x, sizeof x);
      CHECK(!same_bits(machine({context, 20, 1}, 1, std::move(t)).decoded(), want));
    }
}

TEST_CASE("executor: a window hides what lies before it") {
  // layers 0, 2 and 3 see 9 keys, layer 1 sees all; so take a model with windows only
  struct windows : network<embedding<77, 64>,
                           stack<2,
                                 block<residual<rms_norm<64, 1e-6>,
                                                attention<attention_options{.dim = 64,
                                                                            .heads = 2,
                                                                            .kv_heads = 1,
                                                                            .head_dim = 40,
                                                                            .rope = {.dims = 8, .theta = 1e4},
                                                                            .window = 9}>>>>,
                           rms_norm<64, 1e-6>, head<64, 77, true>> {};
  using W = program<windows, F32>;
  const auto t = random_model::tensors::of<W>();
  team threads(2);
  const weights packed(packed_layout_of<W, isa::native>, t.index(), "random", naming::hf, names_of<windows>(), threads,
                       {});
  using state = random_model::state_of<W, dtype::f32, isa::native>;
  executor<> run(random_model::compiled<W, dtype::f32, isa::native>, state::layout::facts, packed, threads,
                 {context, context, 1});
  const auto last = [&](u32 changed) {
    std::vector<u32> text = ids;
    if (changed < context) text[changed] = (text[changed] + 1) % vocab;
    auto s = random_model::lone<state>(context);
    std::vector<float> out;
    run_one(run, text, 1, s, [&](u32, const float* logits) { out.assign(logits, logits + vocab); });
    return out;
  };
  const std::vector<float> want = last(context);
  CHECK(same_bits(want, last(0)));
  CHECK(same_bits(want, last(context - 18)));  // two layers look back 8 positions each
  CHECK(!same_bits(want, last(context - 17)));
  CHECK(!same_bits(want, last(context - 9)));
}

}  // namespace executor_test

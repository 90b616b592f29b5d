// SPDX-License-Identifier: MIT
// table_executor.cpp: both executors give the same bits, fused or not; and the table one can stop, count, dump and
// refuse.
#include "cke/runtime/table_executor.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "cke/from_config.hpp"
#include "cke/io/hf_dir.hpp"
#include "cke/models/llama.hpp"
#include "cke/models/qwen3.hpp"
#include "cke/runtime/sequence.hpp"
#include "expert_model.hpp"
#include "recurrent_model.hpp"

namespace table_executor_test {

using namespace cke;
using namespace cke::text;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::kernels;
using namespace cke::runtime;
using namespace cke::text;
using random_model::run_one;

namespace {

// 6 query heads on 2 kv heads of 24: no width of it is a multiple of a register
constexpr char qwen3_odd[] = R"({"model_type": "qwen3", "vocab_size": 384, "hidden_size": 96, "intermediate_size": 160,
  "num_hidden_layers": 1, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 24, "rms_norm_eps": 1e-6,
  "tie_word_embeddings": true, "rope_parameters": {"rope_type": "default", "rope_theta": 10000}})";
constexpr char llama_bias[] = R"({"model_type": "llama", "vocab_size": 64, "hidden_size": 32, "intermediate_size": 40,
  "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "rms_norm_eps": 1e-5,
  "attention_bias": true, "mlp_bias": true, "rope_parameters": {"rope_type": "default", "rope_theta": 10000}})";

constexpr u32 token_count = 41, context = 64;
std::vector<u32> some_ids(u32 vocab) {
  std::vector<u32> ids(token_count);
  for (u32 i = 0; i < token_count; ++i) ids[i] = (i * i * 7 + 3 * i + 1) % vocab;
  return ids;
}

template <class P, dtype KV> struct machine {
  using isa = cke::isa::native;
  team threads;
  weights packed;
  using state = random_model::state_of<P, KV, isa>;
  static constexpr const compiled_program& compiled = random_model::compiled<P, KV, isa>;
  executor<> fold;
  table_executor<P, KV, isa> table;

  explicit machine(const tensor_index& tensors, u32 n = 2, capacity k = {context, 40, 3})
      : threads(n),
        packed(packed_layout_of<P, isa>, tensors, "test", naming::hf, names_of<typename P::model_list>(), threads, {}),
        fold(compiled, state::layout::facts, packed, threads, k),
        table(compiled, state::layout::facts, packed, threads, k) {}

  // All logits when the ids are fed `chunk` at a time.
  template <class Run> std::vector<float> logits(Run& run, u32 chunk) {
    auto s = random_model::lone<random_model::state_of<P, KV, isa>>(context);
    const std::vector<u32> ids = some_ids(P::vocab);
    std::vector<float> out;
    for (u32 at = 0; at < token_count; at += chunk) {
      const u32 n = at + chunk < token_count ? chunk : token_count - at;
      run_one(run, std::span(ids).subspan(at, n), n, s,
              [&](u32, const float* row) { out.insert(out.end(), row, row + P::vocab); });
    }
    REQUIRE(out.size() == u64{token_count} * P::vocab);
    return out;
  }
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

template <class M, class Formats, dtype KV> void agree(const tensor_index& tensors) {
  machine<program<M, Formats, true>, KV> fused(tensors);
  machine<program<M, Formats, false>, KV> plain(tensors, 3);
  const std::vector<float> want = fused.logits(fused.fold, 1);
  for (const float x : want) REQUIRE(std::isfinite(x));
  CHECK(same_bits(want, fused.logits(fused.table, 1)));
  CHECK(same_bits(want, plain.logits(plain.fold, 1)));
  CHECK(same_bits(want, plain.logits(plain.table, 1)));
  for (const u32 chunk : {5u, 17u, 40u}) {  // below, just beyond and far beyond the decode form
    CAPTURE(chunk);
    CHECK(same_bits(want, fused.logits(fused.fold, chunk)));
    CHECK(same_bits(want, fused.logits(fused.table, chunk)));
    CHECK(same_bits(want, plain.logits(plain.fold, chunk)));
    CHECK(same_bits(want, plain.logits(plain.table, chunk)));
  }
}

template <class M, class Formats, dtype KV> void agree(const char* dir) {
  agree<M, Formats, KV>(read_hf_weights(std::string(CKE_TEST_DATA "/models/") + dir));
}

template <class F> errc code_of(F&& f) {
  try {
    f();
  } catch (const Error& e) { return e.code; }
  return errc::usage;
}

}  // namespace

TEST_CASE("table_executor: the same bits as the executor, fused and unfused: qwen3") {
  using M = from_config<qwen3_odd>;
  SUBCASE("f32") { agree<M, F32, dtype::f32>("qwen3_odd"); }
  SUBCASE("bf16") { agree<M, BF16, dtype::bf16>("qwen3_odd"); }
  SUBCASE("q8_0") { agree<M, Q8_0, dtype::bf16>("qwen3_odd"); }
}
TEST_CASE("table_executor: the same bits as the executor, fused and unfused: llama with biases") {
  using M = from_config<llama_bias>;
  SUBCASE("f32") { agree<M, F32, dtype::f32>("llama_bias"); }
  SUBCASE("bf16") { agree<M, BF16, dtype::bf16>("llama_bias"); }
  SUBCASE("q8_0") { agree<M, Q8_0, dtype::bf16>("llama_bias"); }
}
TEST_CASE("table_executor: the same bits as the executor, fused and unfused: every format side by side") {
  using random_model::patchwork, random_model::wide;
  const auto numbers = random_model::tensors::of<program<wide, patchwork>>();
  agree<wide, patchwork, dtype::bf16>(numbers.index());
}
TEST_CASE("table_executor: the same bits as the executor, fused and unfused: experts") {
  using M = random_model::with_experts;
  const auto numbers = random_model::tensors::of<program<M, F32>>();
  SUBCASE("f32") { agree<M, F32, dtype::f32>(numbers.index()); }
  SUBCASE("bf16") { agree<M, BF16, dtype::bf16>(numbers.index()); }
  SUBCASE("q8_0") { agree<M, Q8_0, dtype::bf16>(numbers.index()); }
}
TEST_CASE("table_executor: the same bits as the executor, fused and unfused: recurrent states") {
  using M = random_model::recurrent;
  agree<M, Q8_0, dtype::bf16>(random_model::tensors::of<program<M, F32>>().index());
}

namespace {
using small = program<from_config<llama_bias>, BF16>;
using machine_of_small = machine<small, dtype::bf16>;
using slot = random_model::state_of<small, dtype::bf16, isa::native>;
using report = step_report<isa::native>;
using debugging = table_executor<small, dtype::bf16, isa::native>::debugging;
const tensor_index& llama_weights() {
  static const tensor_index t = read_hf_weights(CKE_TEST_DATA "/models/llama_bias");
  return t;
}
constexpr auto ignore = [](u32, const float*) {};
}  // namespace

TEST_CASE("table_executor: counters are those of the plan") {
  machine_of_small m(llama_weights());
  auto s = random_model::lone<slot>(context);
  const std::vector<u32> ids = some_ids(small::vocab);
  CHECK(run_one(m.table, std::span(ids).first(20), 1, s, ignore, debugging{}));
  CHECK(s.position() == 20);
  CHECK(m.table.counters().total() == small::count());
  for (const op_info& row : ops) CHECK(m.table.counters().of(row.op) == small::count(row.op));
  CHECK(run_one(m.table, std::span(ids).first(1), 0, s, ignore, debugging{}));  // no logits: no footer
  CHECK(m.table.counters().total() == 2 * small::count() - small::footer_code().ops.size());
  m.table.counters().reset();
  CHECK(m.table.counters().total() == 0);
}

TEST_CASE("table_executor: it stops after any step, in order, and the slot goes on as if nothing had been") {
  machine_of_small m(llama_weights());
  auto s = random_model::lone<slot>(context);
  const std::vector<u32> ids = some_ids(small::vocab);
  std::vector<opcode> order;
  small::for_each_op([&](place, u32, const instruction& i, const code&) { order.push_back(i.op); });
  REQUIRE(order.size() == small::count());
  for (u32 stop = 0; stop < small::count(); ++stop) {
    CAPTURE(stop);
    std::vector<opcode> seen;
    bool taken = false;
    const bool done = run_one(
        m.table, std::span(ids).first(3), 1, s, [&](u32, const float*) { taken = true; },
        debugging{.stop_after = stop, .after = [&](const report& r) {
                    CHECK(r.number == seen.size());
                    seen.push_back(r.step.op);
                  }});
    CHECK(!done);
    CHECK(!taken);
    CHECK(s.position() == 0);
    CHECK(std::ranges::equal(seen, std::span(order).first(stop + 1)));
  }
  CHECK(same_bits(m.logits(m.fold, 7), m.logits(m.table, 7)));
}

TEST_CASE("table_executor: a hook sees every output, and its dump can be read back") {
  machine_of_small m(llama_weights());
  auto s = random_model::lone<slot>(context);
  const std::vector<u32> ids = some_ids(small::vocab);
  std::ostringstream file;
  std::vector<float> stream_rows, logits;
  bool rounded = false;
  run_one(
      m.table, std::span(ids).first(18), 2, s,
      [&](u32, const float* row) { logits.insert(logits.end(), row, row + small::vocab); },
      debugging{.after = [&](const report& r) {
        r.dump(file);
        for (u32 o = 0; o < r.outputs.size(); ++o) {
          const view_desc d = r.describe(o);
          CHECK(d.rank == 2);
          CHECK(d.shape[0] == r.tokens);
          CHECK(d.order == (d.type == dtype::f32 ? arrangement::strided : arrangement::backend_native));
          const std::vector<float> v = r.values(o);
          for (const float x : v) REQUIRE(std::isfinite(x));
          if (d.type != dtype::bf16) continue;
          rounded = true;
          for (const float x : v) REQUIRE(from_bf16(to_bf16(x)) == x);
        }
        if (r.step.op == opcode::logits)
          for (const float x : r.values(0)) stream_rows.push_back(x);
      }});
  CHECK(rounded);
  CHECK(stream_rows == logits);

  const std::string bytes = file.str();
  std::vector<std::string> names;
  for (std::size_t at = 0; at < bytes.size();) {
    ckdmp_header h;
    REQUIRE(fits(at, sizeof h, bytes.size()));
    std::memcpy(&h, bytes.data() + at, sizeof h);
    CHECK(std::string_view(h.magic, 8) == std::string_view("CKDMP\0\0\0", 8));
    CHECK(h.version == 1);
    CHECK(h.rank == 2);
    CHECK(h.elements == static_cast<u32>(h.shape[0] * h.shape[1]));
    const bool inside =
        std::string_view(h.op) != "embedding" && std::string_view(h.op) != "logits" && !(h.shape[0] == 2);
    CHECK(h.layer == (inside ? 0 : -1));
    CHECK(h.token == (h.shape[0] == 18 ? 0 : 16));  // logits are of the last two rows
    names.emplace_back(h.op);
    at += sizeof h + u64{h.elements} * sizeof(float);
    CHECK(at <= bytes.size());
  }
  CHECK(names.front() == "embedding");
  CHECK(names.back() == "logits");
  CHECK(std::ranges::count(names, "head_norm_rope") == 0);  // llama has no such norm
  CHECK(std::ranges::count(names, "rope") == 2);            // q and k
}

TEST_CASE("table_executor: what a backend lacks is refused before anything runs") {
  machine_of_small m(llama_weights(), 1);
  using executor = table_executor<small, dtype::bf16, isa::native>;
  for (const opcode op : {opcode::embedding, opcode::attend_quantize, opcode::logits}) {
    auto table = executor::all_adapters();
    table.remove(op);
    CHECK(code_of([&] { executor(m.compiled, slot::layout::facts, m.packed, m.threads, {context, 8, 1}, table); }) ==
          errc::unsupported_opcode);
  }
  const u32 slots[]{0, 1}, lengths[]{0, 0};
  m.table.route({form::decode, std::span(slots).first(1), std::span(lengths).first(1), 1});
  CHECK(code_of([&] { m.table.route({form::decode, slots, lengths, 2}); }) == errc::batch_unsupported);
}

TEST_CASE("table_executor: what a hook throws reaches the caller, and a kernel that writes too far is named") {
  machine_of_small m(llama_weights());
  auto s = random_model::lone<slot>(context);
  const std::vector<u32> ids = some_ids(small::vocab);
  CHECK_THROWS_WITH_AS(run_one(m.table, std::span(ids).first(2), 1, s, ignore,
                               debugging{.after =
                                             [](const report& r) {
                                               if (r.number == 4) throw std::runtime_error("enough");
                                             }}),
                       "enough", std::runtime_error);
  CHECK(s.position() == 0);

  using executor = table_executor<small, dtype::bf16, isa::native>;
  auto table = executor::all_adapters();
  table.add(opcode::logits, dtype::bf16, [](const params& p, const work& w, u32) {  // one row too many
    std::memset(w.out[0].row(1) - 16, 0, sizeof(float) * (p.as<matmul_params>().rows + 32));
  });
  executor wrong(m.compiled, slot::layout::facts, m.packed, m.threads, {context, 8, 1}, table);
  CHECK_THROWS_WITH_AS(run_one(wrong, std::span(ids).first(2), 1, s, ignore, debugging{}),
                       doctest::Contains("(logits): expected no byte after a register"), Error);
  CHECK(s.position() == 0);
}

TEST_CASE("table_executor: one slot may be fed by both executors in turn") {
  machine_of_small m(llama_weights());
  const std::vector<u32> ids = some_ids(small::vocab);
  const std::vector<float> want = m.logits(m.fold, 1);
  auto s = random_model::lone<slot>(context);
  std::vector<float> got;
  for (u32 at = 0; at < token_count; ++at) {
    auto take = [&](u32, const float* row) { got.insert(got.end(), row, row + small::vocab); };
    if (at % 2) run_one(m.fold, std::span(ids).subspan(at, 1), 1, s, take);
    else run_one(m.table, std::span(ids).subspan(at, 1), 1, s, take);
  }
  CHECK(same_bits(want, got));
}

namespace {
// The executor that runs step by step, where a model has another.
struct stepwise {
  template <class P, dtype KV, class Isa>
  static constexpr auto executor = +[](const compiled_program& m, const state_facts& states, const weights& w,
                                       team& threads, const model_options& o) -> std::unique_ptr<pass_executor> {
    return std::make_unique<table_executor<P, KV, Isa>>(m, states, w, threads, o.limits());
  };
};
}  // namespace

TEST_CASE("table_executor: it is an executor: sequences run on it, with logits of every id, hidden states and errors") {
  machine_of_small m(llama_weights());
  const std::vector<float> want = m.logits(m.fold, 1);
  const std::vector<u32> ids = some_ids(small::vocab);
  sequence s(std::make_shared<loaded<small, dtype::bf16, isa::native, stepwise>>(
      llama_weights(), "test", naming::hf, names_of<small::model_list>(),
      model_options{.threads = 2, .context = context, .chunk = 7, .logit_rows = 2}));
  std::vector<float> got;
  s.feed_all(std::span(ids).first(30),
             [&](u32, std::span<const float> row) { got.insert(got.end(), row.begin(), row.end()); });
  s.feed(std::span(ids).subspan(30));
  got.resize(want.size() - small::vocab);
  got.insert(got.end(), s.logits().begin(), s.logits().end());
  CHECK(same_bits({want.begin(), want.begin() + 30 * small::vocab}, {got.begin(), got.begin() + 30 * small::vocab}));
  CHECK(same_bits({want.end() - small::vocab, want.end()}, {got.end() - small::vocab, got.end()}));

  s.rewind(20);
  std::vector<float> hidden;
  const row_sink sink{[](void* to, u32, const float* row) {
                        static_cast<std::vector<float>*>(to)->insert(static_cast<std::vector<float>*>(to)->end(), row,
                                                                     row + small::dim);
                      },
                      &hidden};
  sequence::feed_together(1, [&](u32) { return sequence::feeding{&s, std::span(ids).subspan(20, 9), sink}; });
  CHECK(hidden.size() == 9 * small::dim);
  CHECK_THROWS_AS(s.feed_all(std::span(ids).subspan(29),
                             [](u32 i, std::span<const float>) {
                               if (i == 8) throw 5;
                             }),
                  int);
  CHECK(s.position() == 29);

  sequence other(s);
  const sequence::feeding both[]{{&s, std::span(ids).first(1)}, {&other, std::span(ids).first(1)}};
  CHECK(code_of([&] { sequence::feed_together(2, [&](u32 i) { return both[i]; }); }) == errc::batch_unsupported);
  CHECK(s.position() == 29);
  CHECK(other.position() == 29);
}

}  // namespace table_executor_test

// SPDX-License-Identifier: MIT
// host_run.cpp: whole models whose device code runs on the host, against the CPU's.
#include <cke/cuda/emulated.cuh>
#include <cke/cuda/executor.cuh>
#include <cke/from_config.hpp>
#include <cstdlib>

#include <cke/models/gemma3.hpp>
#include <cke/models/glm4.hpp>
#include <cke/models/qwen2.hpp>

#include "../parity/parity.hpp"
#include "../runtime/random_model.hpp"

using namespace cke;

namespace {

template <class Arch> using emulated = cuda::isa<cuda::emulated<Arch>>;
using tied = from_config<configs::qwen3_tied>;

// The CPU's bits have the order of 16 lanes and, with bf16 caches, the dot of AVX512-BF16. Others are a rounding away.
constexpr double other_order = std::is_same_v<isa::native, isa::avx512_vnni> ? 0 : 1e-3;

// What device code makes of a model: all logits of a prompt, in passes that cut it unevenly, and id by id.
template <class M, class Formats, dtype KV, class Arch = cuda::sm75> std::vector<float> device_logits(const checkpoint& from, std::span<const u32> ids) {
  const auto model = Model<M, Formats, KV, emulated<Arch>>::load(from, parity::options(96));
  const std::vector<float> all = parity::logits_of(model, ids);
  CHECK(parity::same_id_by_id(model, ids, all));
  return all;
}

constexpr auto yes = [](u32) { return true; };

// Likeliest ids, each fed by itself; the session's logits are then those after the last.
template <class Session> std::vector<u32> one_by_one(Session& s, u32 count) {
  std::vector<u32> ids;
  while (ids.size() < count) {
    ids.push_back(static_cast<u32>(std::ranges::max_element(s.logits()) - s.logits().begin()));
    s.feed(ids.back());
  }
  return ids;
}
// Many tokens in a launch are those of a launch for each step, with the same logits, as long as the session goes on.
template <class Model> void check_ahead(const Model& model, std::span<const u32> prompt) {
  auto steps = model.session(), ahead = model.session();
  steps.feed(prompt), ahead.feed(prompt);
  for (const u32 count : {3u, 2u}) {
    CHECK(ahead.generate_nosync(count, {}, yes) == one_by_one(steps, count));
    CHECK(std::ranges::equal(ahead.logits(), steps.logits()));
  }
  CHECK(std::ranges::equal(ahead.history(), steps.history()));
}

template <const auto& Config> void check_family(const std::string& path) {
  const parity::expected want(path + '/');
  CAPTURE(path);
  CHECK(parity::distance(device_logits<from_config<Config>, F32, dtype::f32>(hf(path), want.ids), want.logits).most <= parity::exact);
  check_ahead(Model<from_config<Config>, F32, dtype::f32, emulated<cuda::sm75>>::load(hf(path), parity::options(96)), want.ids);
}

}  // namespace

TEST_CASE("cuda: a toy Qwen3 in q8_0 has the CPU's bits under every schedule") {
  const checkpoint from = parity::open("gguf/qwen3_tied-Q8_0.gguf");
  const parity::expected want(parity::model_path("gguf/qwen3_tied-Q8_0."));
  const auto cpu = parity::logits_of(Model<tied, Q8_0>::load(from, parity::options(96)), want.ids);
  std::vector<float> first;
  for (cuda::emulation_seed = 0; cuda::emulation_seed < 20; ++cuda::emulation_seed) {
    const auto device = device_logits<tied, Q8_0, default_kv<Q8_0>>(from, want.ids);
    if (first.empty()) first = device;
    CAPTURE(cuda::emulation_seed);
    CHECK(device == first);
    CHECK(parity::distance(device, cpu).relative <= other_order);
  }
  CHECK(device_logits<tied, Q8_0, default_kv<Q8_0>, cuda::sm80>(from, want.ids) == first);  // tensor cores add up the same integers
}

TEST_CASE("cuda: q4_k has the CPU's bits, by dp4a and by tensor cores") {
  using q4_k = one_format<dtype::q4_k>;
  using random_model::wide;
  const auto t = random_model::tensors::of<program<wide, q4_k>>();
  const auto logits = [&]<class Isa>(Isa) {
    using machine = loaded<program<wide, q4_k>, dtype::f32, Isa>;
    sequence<machine> s(std::make_shared<machine>(t.index(), "random", naming::hf, names_of<wide>(), model_options{.threads = 2, .context = 40, .chunk = 13, .logit_rows = 4}));
    std::vector<float> all;
    s.feed_all(random_model::ids(20, machine::program::vocab), [&](u32, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); });
    return all;
  };
  const auto device = logits(emulated<cuda::sm75>{});
  CHECK(logits(emulated<cuda::sm80>{}) == device);
  CHECK(parity::distance(device, logits(isa::native{})).relative <= other_order);
}

TEST_CASE("cuda: a sequence has the same bits beside another one, and so has a fork; hidden states are the CPU's") {
  using device = Model<tied, Q8_0, default_kv<Q8_0>, emulated<cuda::sm75>>;
  const checkpoint from = parity::open("gguf/qwen3_tied-Q8_0.gguf");
  const std::vector<u32> ids = parity::read_ids(parity::model_path("gguf/qwen3_tied-Q8_0.ids.json"));
  const auto model = device::load(from, parity::options(256));
  using session = decltype(model.session());
  std::vector<u32> other(140);  // more than a page
  for (u32 i = 0; i < other.size(); ++i) other[i] = ids[i % ids.size()];

  session alone = model.session(), long_one = model.session(), a = model.session(), b = model.session();
  alone.feed(ids), long_one.feed(other);
  session* const both[]{&a, &b};
  std::vector<float> each, want;
  const row_sink to_each{[](void* user, u32, const float* row) { static_cast<std::vector<float>*>(user)->insert(static_cast<std::vector<float>*>(user)->end(), row, row + device::vocab_size); }, &each};
  session::feed_together(2, [&](u32 i) { return i == 0 ? typename session::feeding{both[i], ids, {}, to_each} : typename session::feeding{both[i], other}; });
  model.session().feed_all(ids, [&](u32, std::span<const float> row) { want.insert(want.end(), row.begin(), row.end()); });
  CHECK(each == want);
  CHECK(std::ranges::equal(a.logits(), alone.logits()));
  CHECK(std::ranges::equal(b.logits(), long_one.logits()));

  session fork = b;
  b.feed(ids[0]), fork.feed(ids[1]), long_one.feed(ids[1]);  // pages are shared until one of them writes
  CHECK(std::ranges::equal(fork.logits(), long_one.logits()));
  CHECK(!std::ranges::equal(fork.logits(), b.logits()));

  const auto hidden = [&](const auto& of) {
    std::vector<float> rows;
    auto s = of.session();
    using kind = decltype(s);
    const row_sink sink{[](void* user, u32, const float* row) { static_cast<std::vector<float>*>(user)->insert(static_cast<std::vector<float>*>(user)->end(), row, row + tied::config.dim); }, &rows};
    kind::feed_together(1, [&](u32) { return typename kind::feeding{&s, ids, sink}; });
    return rows;
  };
  CHECK(parity::distance(hidden(model), hidden(Model<tied, Q8_0>::load(from, parity::options(96)))).relative <= other_order);
}

TEST_CASE("cuda: a toy Qwen3 in bf16 and in f16 has the logits of transformers") {
  const parity::expected want(parity::model_path("gguf/qwen3_tied-BF16."));
  const checkpoint from = parity::open("gguf/qwen3_tied-BF16.gguf");
  CHECK(parity::distance(device_logits<tied, BF16, dtype::f16>(from, want.ids), want.logits).relative <= parity::bf16_tolerance);
  CHECK(parity::distance(device_logits<tied, F16, dtype::f16>(from, want.ids), want.logits).relative <= parity::f16_tolerance);
}

TEST_CASE("cuda: the dense families in f32 have the logits of transformers") {
  check_family<configs::qwen3_odd>(parity::model_path("qwen3_odd"));
  check_family<configs::llama_bias>(parity::model_path("llama_bias"));
  check_family<configs::qwen2>(CKE_TEST_DATA "/families/qwen2");
  check_family<configs::gemma3_text>(CKE_TEST_DATA "/families/gemma3_text");
  check_family<configs::glm4>(CKE_TEST_DATA "/families/glm4");
}

// ---- many tokens in one launch

// What a block of an H100 or H200 does for a token, and how often all wait.
using qwen3_schedule = cuda::token_schedule<program<Qwen3_0_6B, Q8_0>, dtype::bf16>;
static_assert(qwen3_schedule::exchanges == 28 * 6 + 2);  // before qkv, keys, the join, o, gate and up, down; the head; the choice
static_assert(qwen3_schedule::shares_of(132).all == 633'233'408 && qwen3_schedule::shares_of(132).most == 4'909'056);
// While blocks wait before the norm, the weights of q, k and v come nearer; before the second one, those of gate and up.
constexpr cuda::coming qwen3_qkv = cuda::coming_at(qwen3_schedule::all[1], 0), qwen3_gate = cuda::coming_at(qwen3_schedule::all[1], 6);
static_assert(qwen3_qkv.step == 1 && qwen3_qkv.units == 128 && qwen3_qkv.matrices == 3 && qwen3_qkv.first[1] == 64 && qwen3_qkv.first[2] == 96);
static_assert(qwen3_gate.step == 7 && qwen3_gate.units == 96 && qwen3_gate.matrices == 2 && qwen3_gate.first[1] == 0 && qwen3_gate.unit_bytes == 34'816);
static_assert(qwen3_schedule::common_bytes == 632'064 && qwen3_schedule::own_bytes == 15'488);

namespace {

// The model on a device that has its seed, its blocks and its faults from the globals.
using ahead_model = Model<tied, Q8_0, default_kv<Q8_0>, emulated<cuda::sm75>>;
struct toy {
  checkpoint from = parity::open("gguf/qwen3_tied-Q8_0.gguf");
  std::vector<u32> ids = parity::read_ids(parity::model_path("gguf/qwen3_tied-Q8_0.ids.json"));
  ahead_model device(u32 context = 96) const { return ahead_model::load(from, parity::options(context)); }
};
// What running ahead throws, or nothing.
std::string fault(const toy& t) {
  auto s = t.device().session();
  s.feed(t.ids);
  try {
    s.generate_nosync(3, {}, yes);
  } catch (const Error& e) {
    CHECK(s.position() == t.ids.size());
    return e.what();
  }
  return "nothing";
}

}  // namespace

// CKE_SCHEDULES=1000 in the environment: so many.
TEST_CASE("cuda: many tokens in one launch have the CPU's bits under every schedule") {
  const toy t;
  auto cpu = Model<tied, Q8_0>::load(t.from, parity::options(96)).session();
  cpu.feed(t.ids);
  const std::vector<u32> want = one_by_one(cpu, 3);
  const char* const asked = std::getenv("CKE_SCHEDULES");
  const u64 schedules = asked ? std::strtoull(asked, nullptr, 10) : 25;
  for (cuda::emulation_seed = 0; cuda::emulation_seed < schedules; ++cuda::emulation_seed) {
    cuda::emulation_blocks = 1 + static_cast<u32>(cuda::emulation_seed % 5);
    CAPTURE(cuda::emulation_seed);
    auto s = t.device().session();
    s.feed(t.ids);
    CHECK(s.generate_nosync(3, {}, yes) == want);
    CHECK(parity::distance(s.logits(), cpu.logits()).relative <= other_order);
  }
  cuda::emulation_seed = 0, cuda::emulation_blocks = 4;
}

TEST_CASE("cuda: running ahead goes over the end of a page, and ends at stop ids, at a no, and at the context's end") {
  const toy t;
  const auto model = t.device(132);
  std::vector<u32> long_prompt(126);
  for (u32 i = 0; i < long_prompt.size(); ++i) long_prompt[i] = t.ids[i % t.ids.size()];
  check_ahead(model, long_prompt);

  auto s = model.session(), steps = model.session();
  s.feed(t.ids), steps.feed(t.ids);
  const std::vector<u32> ids = one_by_one(steps, 6);
  const u32 stop = ids[3];
  const std::size_t end = static_cast<std::size_t>(std::ranges::find(ids, stop) - ids.begin()) + 1;
  CHECK(s.generate_nosync(6, std::span(&stop, 1), yes) == std::vector(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(end)));
  CHECK(s.position() == t.ids.size() + end - 1);  // the stop id was not fed
  CHECK(s.generate_nosync(6, std::span(&stop, 1), yes) == std::vector{stop});
  CHECK(s.generate_nosync(6, {}, [](u32) { return false; }) == std::vector{stop});

  // A no in the midst: what had been computed by then is part of the session, and it goes on from there.
  u32 heard = 0;
  const auto some = s.generate_nosync(40, {}, [&](u32) { return ++heard < 3; });
  CHECK(heard == 3);
  CHECK((some.size() >= 3 && some.size() < 40));
  auto again = model.session();
  again.feed(s.history());
  CHECK(std::ranges::equal(again.logits(), s.logits()));

  s.reset(), s.feed(long_prompt);
  CHECK_THROWS_WITH_AS(s.generate_nosync(7, {}, yes), doctest::Contains("at most 132 positions"), Error);
  CHECK(s.generate_nosync(6, {}, yes).size() == 6);
  CHECK(s.generate_nosync(0, {}, yes).empty());
}

TEST_CASE("cuda: a block that is not heard ends the launch, and one that hears too soon is found") {
  const toy t;
  for (const u64 nth : {1u, 6u, 40u}) {
    CAPTURE(nth);
    cuda::emulation_faults = {.lose_add = nth};
    CHECK(fault(t).find("blocks that come within 2000 ms") != std::string::npos);
    cuda::emulation_faults = {.hear_too_soon = nth};
    CHECK(fault(t).find("device code: a ") != std::string::npos);
  }
  cuda::emulation_faults = {};
  CHECK(fault(t) == "nothing");
}

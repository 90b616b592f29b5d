// SPDX-License-Identifier: MIT
// host_run.cpp: whole models whose device code runs on the host, against the CPU's.
#include <cke/cuda/executor.cuh>
#include <cke/cuda/host/emulated.cuh>
#include <cke/from_config.hpp>

#include <cke/models/gemma3.hpp>
#include <cke/models/glm4.hpp>
#include <cke/models/glm4_moe.hpp>
#include <cke/models/qwen2.hpp>
#include <cke/models/qwen3_moe.hpp>
#include <thread>

#include "../parity/parity.hpp"
#include "../runtime/expert_model.hpp"
#include "ahead.hpp"

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

namespace {

using ahead::emulated, ahead::other_order;
using tied = from_config<configs::qwen3_tied>;

// What device code makes of a model: all logits of a prompt, in passes that cut it unevenly, and id by id.
template <class M, class Formats, dtype KV, class Arch = cuda::sm75> std::vector<float> device_logits(
    const checkpoint& from, std::span<const u32> ids) {
  const auto model = Model<M, Formats, KV, emulated<Arch>>::load(from, parity::options(96));
  const std::vector<float> all = parity::logits_of(model, ids);
  CHECK(parity::same_id_by_id(model, ids, all));
  return all;
}

template <const auto& Config> parity::expected check_logits(const std::string& path) {
  parity::expected want(path + '/');
  CAPTURE(path);
  CHECK(parity::distance(device_logits<from_config<Config>, F32, dtype::f32>(hf(path), want.ids), want.logits).most <=
        parity::exact);
  return want;
}
template <const auto& Config> void check_family(const std::string& path) {
  const parity::expected want = check_logits<Config>(path);
  ahead::check(Model<from_config<Config>, F32, dtype::f32, emulated<cuda::sm90>>::load(hf(path), parity::options(96)),
               want.ids);
}

// Rows that are whole blocks of every format; the second layer has experts.
struct wide_experts
    : network<embedding<131, 256>,
              stack<2,
                    block<residual<rms_norm<256, 1e-6>, attention<random_model::wide_attend>>,
                          residual<rms_norm<256, 1e-6>, gated_mlp<256, 256, activation::silu>>>,
                    block<residual<rms_norm<256, 1e-6>, attention<random_model::wide_attend>>,
                          residual<rms_norm<256, 1e-6>,
                                   moe<moe_options{.dim = 256,
                                                   .hidden = 256,
                                                   .route = {.experts = 9, .active = 2, .renormalise = true}}>>>>,
              rms_norm<256, 1e-6>, head<256, 131, true>> {
  static constexpr auto names = expert_names;
};

// Rows of more than one run of 256 numbers, whose ends are no whole 16 bytes.
struct odd_rows
    : network<embedding<67, 70>,
              stack<2,
                    block<residual<rms_norm<70, 1e-6>,
                                   attention<attention_options{.dim = 70,
                                                               .heads = 3,
                                                               .kv_heads = 3,
                                                               .head_dim = 22,
                                                               .rope = {.dims = 22, .theta = 1e4},
                                                               .qkv_bias = true}>>,
                          residual<rms_norm<70, 1e-6>, gated_mlp<70, 330, activation::silu>>>,
                    block<residual<rms_norm<70, 1e-6>,
                                   attention<attention_options{.dim = 70,
                                                               .heads = 3,
                                                               .kv_heads = 3,
                                                               .head_dim = 22,
                                                               .rope = {.dims = 22, .theta = 1e4},
                                                               .qkv_bias = true}>>,
                          residual<rms_norm<70, 1e-6>,
                                   moe<moe_options{.dim = 70,
                                                   .hidden = 330,
                                                   .route = {.experts = 5, .active = 2, .renormalise = true}}>>>>,
              rms_norm<70, 1e-6>, head<70, 67, true>> {
  static constexpr auto names = expert_names;
};

// All logits of 90 ids of a random model, and those of one more.
template <class M, class Formats, class Isa> std::vector<float> random_logits(const random_model::tensors& t,
                                                                              u32 chunk = 71) {
  using machine = loaded<program<M, Formats>, dtype::f32, Isa>;
  sequence s(std::make_shared<machine>(t.index(), "random", naming::hf, names_of<M>(),
                                       model_options{.threads = 2, .context = 96, .chunk = chunk, .logit_rows = 4}));
  std::vector<float> all;
  const auto take = [&](u32, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); };
  s.feed_all(random_model::ids(90, machine::program::vocab), take);
  s.feed_all(random_model::ids(1, machine::program::vocab), take);
  return all;
}

// The CPU's bits. Where the CPU adds up in another order, a number on the edge may round to another code, which moves
// the rows that attend to it by a percent or so: most rows are a rounding apart, and none is further than codes are.
template <class M, class Formats> void check_rows(const std::vector<float>& device, const random_model::tensors& t) {
  const std::vector<float> cpu = random_logits<M, Formats, isa::native>(t);
  if (other_order == 0) {
    CHECK(device == cpu);
    return;
  }
  constexpr u32 vocab = program<M, Formats>::vocab;
  REQUIRE(device.size() == cpu.size());
  std::vector<double> apart;
  for (std::size_t at = 0; at < cpu.size(); at += vocab)
    apart.push_back(ahead::difference({&device[at], vocab}, {&cpu[at], vocab}));
  std::ranges::sort(apart);
  CHECK(apart[apart.size() / 2] <= parity::f32_tolerance);
  CHECK(apart.back() <= 5e-2);
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
  CHECK(device_logits<tied, Q8_0, default_kv<Q8_0>, cuda::sm80>(from, want.ids) ==
        first);  // tensor cores add up the same integers
}

TEST_CASE("cuda: q4_k has the CPU's bits, by dp4a and by tensor cores, in experts too") {
  using q4_k = one_format<dtype::q4_k>;
  const auto t = random_model::tensors::of<program<wide_experts, q4_k>>();
  const auto device = random_logits<wide_experts, q4_k, emulated<cuda::sm75>>(t);
  CHECK(random_logits<wide_experts, q4_k, emulated<cuda::sm80>>(t) == device);
  check_rows<wide_experts, q4_k>(device, t);
}

TEST_CASE("cuda: mixtures of experts in q8_0 have the CPU's bits, however they choose") {
  using random_model::with_experts;
  const auto t = random_model::tensors::of<program<with_experts, Q8_0>>();
  const auto device = random_logits<with_experts, Q8_0, emulated<cuda::sm80>>(t);
  CHECK(random_logits<with_experts, Q8_0, emulated<cuda::sm80>>(t, 5) == device);  // other tiles
  check_rows<with_experts, Q8_0>(device, t);
}

TEST_CASE("cuda: experts and mlps without gates have the CPU's bits in q8_0, in passes of any length") {
  const auto t = random_model::tensors::of<program<random_model::without_gates, Q8_0>>();
  const auto device = random_logits<random_model::without_gates, Q8_0, emulated<cuda::sm80>>(t);
  CHECK(random_logits<random_model::without_gates, Q8_0, emulated<cuda::sm75>>(t, 5) == device);
  check_rows<random_model::without_gates, Q8_0>(device, t);
}

TEST_CASE("cuda: plain numbers have the same bits in passes of any length, in experts too") {
  const auto check = [](auto formats) {
    using F = decltype(formats);
    const auto t = random_model::tensors::of<program<odd_rows, F>>();
    const auto narrow = random_logits<odd_rows, F, emulated<cuda::sm75>>(t, 5);
    CHECK(random_logits<odd_rows, F, emulated<cuda::sm75>>(t) == narrow);
    CHECK(random_logits<odd_rows, F, emulated<cuda::sm80>>(t) == narrow);  // copies that do not wait
    CHECK(parity::distance(narrow, random_logits<odd_rows, F, isa::native>(t)).relative <= 1e-2);
  };
  check(F32{}), check(F16{});
}

TEST_CASE("cuda: bf16 has the same bits in passes of any length, by chains and by tensor cores, in experts too") {
  const auto t = random_model::tensors::of<program<odd_rows, BF16>>();
  const auto cpu = random_logits<odd_rows, BF16, isa::native>(t);
  const auto check = [&]<class Arch>(Arch, std::initializer_list<u32> lengths) {
    const auto narrow = random_logits<odd_rows, BF16, emulated<Arch>>(t, 5);
    for (const u32 length : lengths) {
      CAPTURE(length);
      CHECK(random_logits<odd_rows, BF16, emulated<Arch>>(t, length) == narrow);
    }
    CHECK(parity::distance(narrow, cpu).relative <= 1e-2);
    return narrow;
  };
  const auto chains = check(cuda::sm75{}, {71}), mmas = check(cuda::sm80{}, {1, 8, 9, 64, 71});
  CHECK(chains != mmas);  // sums in another order
  CHECK(parity::distance(mmas, chains).relative <= 1e-2);
}

namespace {

struct counting : cuda::emulated<cuda::sm80> {
  static inline u32 recorded = 0, replayed = 0;
  static inline u64 most_bytes = ~u64{};          // of an allocation
  static inline std::function<void()> at_copy{};  // called before each, if there is one
  std::byte* allocate(u64 bytes) {
    if (bytes > most_bytes) throw Error(errc::out_of_memory, {}, "device", concat({most_bytes, " bytes"}), "more");
    return cuda::emulated<cuda::sm80>::allocate(bytes);
  }
  void copy(std::byte* to, const std::byte* from, u64 bytes) {
    if (at_copy) at_copy();
    cuda::emulated<cuda::sm80>::copy(to, from, bytes);
  }
  template <class F> graph record(F&& f) { return ++recorded, cuda::emulated<cuda::sm80>::record(f); }
  void replay(const graph& g) { ++replayed, cuda::emulated<cuda::sm80>::replay(g); }
};

// A mixture of experts of 131 ids on a device.
template <class Device> auto experts_on(u32 chunk, u32 context = 140) {
  using random_model::with_experts;
  static const auto t = random_model::tensors::of<program<with_experts, Q8_0>>();
  using machine = loaded<program<with_experts, Q8_0>, dtype::f32, cuda::isa<Device>>;
  return std::make_shared<machine>(t.index(), "random", naming::hf, names_of<with_experts>(),
                                   model_options{.threads = 1, .context = context, .chunk = chunk, .logit_rows = 4});
}

}  // namespace

TEST_CASE("cuda: prompts of about one length replay one graph, with the bits of other passes") {
  counting::recorded = counting::replayed = 0;
  const auto model = experts_on<counting>(60);
  const auto narrow = experts_on<cuda::emulated<cuda::sm80>>(8);
  const auto check = [&](u32 count, u32 recorded, u32 replayed) {
    const std::vector<u32> ids = random_model::ids(count, 131, count);
    sequence s(model);
    sequence want(narrow);
    CAPTURE(count);
    s.feed(ids), want.feed(ids);
    CHECK(std::ranges::equal(s.logits(), want.logits()));
    CHECK(counting::recorded == recorded);
    CHECK(counting::replayed == replayed);
  };
  check(40, 0, 0), check(33, 1, 1), check(59, 1, 2);
  check(20, 1, 2), check(32, 2, 3);
  check(140, 2, 5);  // of 60 twice, which looks like 40, and of 20, which sees one block of keys more
}

TEST_CASE("cuda: a fork's page is copied while no other thread can record a graph") {
  const auto model = experts_on<counting>(60);
  sequence s(model);
  s.feed(random_model::ids(40, 131));
  sequence fork(s);
  u32 copies = 0;
  bool in_turn = true;
  counting::at_copy = [&] {
    ++copies;
    std::thread([&] {
      if (!model->busy.try_lock()) return;
      model->busy.unlock();
      in_turn = false;
    }).join();
  };
  fork.feed(1);
  counting::at_copy = nullptr;
  CHECK(copies == 1);
  CHECK(in_turn);
}

TEST_CASE("cuda: where memory for another session is refused, the pages that there are stay as they were") {
  const auto model = experts_on<counting>(60);
  const std::vector<u32> ids = random_model::ids(140, 131);
  sequence s(model);
  s.feed(ids);
  const std::vector<float> want(s.logits().begin(), s.logits().end());
  counting::most_bytes = 0;
  const auto refused = random_model::failure_of([&] { sequence another(model); });
  counting::most_bytes = ~u64{};
  CHECK(refused.code == errc::out_of_memory);
  CHECK(model->cache.persistent.size() == 2);
  s.reset();
  REQUIRE(s.recall(ids) == 128);
  s.feed(std::span(ids).subspan(128));
  CHECK(std::ranges::equal(s.logits(), want));
  sequence another(model);
  CHECK(model->cache.persistent.size() == 4);
  CHECK(another.recall(ids) == 128);
}

TEST_CASE("cuda: a pass has no more rows than a grid has blocks in y") {
  const auto refused = random_model::failure_of([] { experts_on<counting>(65536, 65536); });
  CHECK(refused.code == errc::config_range);
  CHECK(refused.text == "chunk: expected 1 to 65535 on a device, found 65536");
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
  const row_sink to_each{[](void* user, u32, const float* row) {
                           static_cast<std::vector<float>*>(user)->insert(static_cast<std::vector<float>*>(user)->end(),
                                                                          row, row + device::vocab_size);
                         },
                         &each};
  session::feed_together(2, [&](u32 i) {
    return i == 0 ? typename session::feeding{both[i], ids, {}, to_each} : typename session::feeding{both[i], other};
  });
  model.session().feed_all(ids,
                           [&](u32, std::span<const float> row) { want.insert(want.end(), row.begin(), row.end()); });
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
    const row_sink sink{[](void* user, u32, const float* row) {
                          static_cast<std::vector<float>*>(user)->insert(static_cast<std::vector<float>*>(user)->end(),
                                                                         row, row + tied::config.dim);
                        },
                        &rows};
    kind::feed_together(1, [&](u32) { return typename kind::feeding{&s, ids, sink}; });
    return rows;
  };
  CHECK(parity::distance(hidden(model), hidden(Model<tied, Q8_0>::load(from, parity::options(96)))).relative <=
        other_order);
}

TEST_CASE("cuda: a toy Qwen3 in bf16 and in f16 has the logits of transformers") {
  const parity::expected want(parity::model_path("gguf/qwen3_tied-BF16."));
  const checkpoint from = parity::open("gguf/qwen3_tied-BF16.gguf");
  CHECK(parity::distance(device_logits<tied, BF16, dtype::f16>(from, want.ids), want.logits).relative <=
        parity::bf16_tolerance);
  CHECK(parity::distance(device_logits<tied, BF16, dtype::f16, cuda::sm80>(from, want.ids), want.logits).relative <=
        parity::bf16_tolerance);
  CHECK(parity::distance(device_logits<tied, F16, dtype::f16>(from, want.ids), want.logits).relative <=
        parity::f16_tolerance);
}

TEST_CASE("cuda: the dense families in f32 have the logits of transformers") {
  check_family<configs::qwen3_odd>(parity::model_path("qwen3_odd"));
  check_family<configs::llama_bias>(parity::model_path("llama_bias"));
  check_family<configs::qwen2>(CKE_TEST_DATA "/families/qwen2");
  check_family<configs::gemma3_text>(CKE_TEST_DATA "/families/gemma3_text");
  check_family<configs::glm4>(CKE_TEST_DATA "/families/glm4");
}

TEST_CASE("cuda: families with experts in f32 have the logits of transformers") {
  check_logits<configs::qwen3_moe>(CKE_TEST_DATA "/families/qwen3_moe");
  check_logits<configs::glm4_moe>(CKE_TEST_DATA "/families/glm4_moe");
}

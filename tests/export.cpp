// SPDX-License-Identifier: MIT
// export.cpp: a model behind the C functions, against the same model in C++.
#include "cke/export.hpp"

#include <doctest/doctest.h>

#include <unistd.h>
#include <atomic>
#include <cke/from_config.hpp>
#include <cke/io/hf_dir.hpp>
#include <cke/models/qwen3.hpp>
#include <cke/text/sampling/random.hpp>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>

#include "parity/configs.hpp"

using exported_qwen3 = cke::from_config<configs::qwen3_tied>;
CKE_EXPORT_MODEL(exported_qwen3, cke::BF16);

namespace export_test {

using namespace cke;
using namespace cke::graph;
using namespace cke::runtime;
using namespace cke::io;
using namespace cke::text;

namespace {

using typed = door::exported<exported_qwen3, BF16>;
const std::string directory = CKE_TEST_DATA "/models/qwen3_tied",
                  file = CKE_TEST_DATA "/models/gguf/qwen3_tied-BF16.gguf";

struct model_free {
  void operator()(cke_model* m) const { cke_model_free(m); }
};
struct session_free {
  void operator()(cke_session* s) const { cke_session_free(s); }
};
using model_handle = std::unique_ptr<cke_model, model_free>;
using session_handle = std::unique_ptr<cke_session, session_free>;

constexpr cke_options small{.threads = 2,
                            .context = 64,
                            .chunk = 20,
                            .logit_rows = 3,
                            .cache_positions = 0,
                            .progress = nullptr,
                            .read = nullptr,
                            .copied = nullptr,
                            .user = nullptr,
                            .hints = {}};

model_handle load() {
  cke_error e;
  model_handle m(cke_model_load(file.c_str(), &small, &e));
  REQUIRE_MESSAGE(m, e.message);
  CHECK(e.code == 0);
  CHECK(e.message[0] == 0);
  return m;
}
session_handle open(const model_handle& m) {
  session_handle s(cke_session_create(m.get(), nullptr));
  REQUIRE(s);
  return s;
}
std::vector<u32> some_ids(u32 count) {
  std::vector<u32> ids(count);
  for (u32 i = 0; i < count; ++i) ids[i] = static_cast<u32>(uniform(3, i) * typed::program::vocab);
  return ids;
}
bool same_bits(const float* a, const float* b, std::size_t rows = 1) {
  return std::memcmp(a, b, rows * typed::program::vocab * sizeof(float)) == 0;
}
cke_turn turn_of(const session_handle& s, const u32* ids, std::size_t count) {
  return {s.get(), ids, count, nullptr, nullptr, nullptr};
}
constexpr i32 number(errc code) { return 1 + static_cast<i32>(code); }

// C++'s own way to the same model.
sequence& reference() {
  static const auto loaded = [] {
    const checkpoint from = gguf_weights(gguf::read(file));
    return std::make_shared<loaded_program>(typed::type.compiled, from.tensors, from.name, from.as,
                                            names_of<exported_qwen3>(), model_options{.threads = 1, .context = 64});
  }();
  static sequence s(loaded);
  s.reset();
  return s;
}

}  // namespace

TEST_CASE("export: the version, and what a model says of itself") {
  CHECK(cke_abi_version() == CKE_ABI_VERSION);
  const model_handle m = load();
  const cke_facts f = cke_model_facts(m.get());
  CHECK(f.vocab == typed::program::vocab);
  CHECK(f.dim == 32);
  CHECK(f.context == 64);
  CHECK(f.threads == 2);
  CHECK(f.kv_type == static_cast<u32>(dtype::f16));
  CHECK(f.isa == isa::native::name);
  CHECK(f.parameters == typed::program::parameters);
  CHECK(f.weight_bytes > 0);
  CHECK(f.activation_bytes > 0);
  CHECK(f.state_bytes == typed::program::state_bytes({.context = 64}, dtype::bf16));
}

TEST_CASE("export: feed, feed_all, fork and rewind give the bits that C++ gives") {
  const model_handle m = load();
  const session_handle s = open(m);
  const std::vector<u32> ids = some_ids(50);
  sequence& want = reference();
  CHECK(cke_session_position(s.get()) == 0);
  REQUIRE(cke_session_feed(s.get(), ids.data(), 30, nullptr) == 0);
  want.feed(std::span(ids).first(30));
  CHECK(cke_session_position(s.get()) == 30);
  CHECK(same_bits(cke_session_logits(s.get()), want.logits().data()));

  const session_handle branch(cke_session_fork(s.get(), nullptr));
  REQUIRE(branch);
  REQUIRE(cke_session_feed(branch.get(), ids.data(), 10, nullptr) == 0);
  CHECK(cke_session_position(branch.get()) == 40);
  CHECK(cke_session_position(s.get()) == 30);
  CHECK(cke_session_rewind(branch.get(), 30) == 30);

  std::vector<float> rows, all;
  const auto take = [](void* to, uint32_t i, const float* row) {
    auto& out = *static_cast<std::vector<float>*>(to);
    CHECK(out.size() == u64{i} * typed::program::vocab);
    out.insert(out.end(), row, row + typed::program::vocab);
  };
  REQUIRE(cke_session_feed_all(branch.get(), ids.data() + 30, 20, take, &rows, nullptr) == 0);
  want.feed_all(std::span(ids).subspan(30),
                [&](u32, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); });
  REQUIRE(rows.size() == all.size());
  CHECK(same_bits(rows.data(), all.data(), 20));
  CHECK(same_bits(cke_session_logits(branch.get()), want.logits().data()));
}

TEST_CASE("export: sessions that are fed together have the bits that each has alone") {
  const model_handle m = load();
  const session_handle a = open(m), b = open(m), c = open(m);
  const std::vector<u32> ids = some_ids(64);
  const auto check_at = [&](const session_handle& s, u32 position) {
    CHECK(cke_session_position(s.get()) == position);
    sequence& want = reference();
    want.feed(std::span(ids).first(position));
    CHECK(same_bits(cke_session_logits(s.get()), want.logits().data()));
  };
  const cke_turn first[]{turn_of(a, ids.data(), 3), turn_of(b, ids.data(), 41), turn_of(c, ids.data(), 1)};
  REQUIRE(cke_sessions_feed(first, 3, nullptr) == 0);
  const cke_turn second[]{turn_of(c, ids.data() + 1, 9), turn_of(a, ids.data() + 3, 1)};
  REQUIRE(cke_sessions_feed(second, 2, nullptr) == 0);
  REQUIRE(cke_sessions_feed(nullptr, 0, nullptr) == 0);

  const model_handle other = load();
  const session_handle stranger = open(other);
  const u32 high = typed::program::vocab;
  const auto refused = [&](const cke_turn& wrong, errc code, const std::string& message) {
    const cke_turn turns[]{turn_of(a, ids.data(), 2), wrong};
    cke_error e;
    CHECK(cke_sessions_feed(turns, 2, &e) == number(code));
    CHECK(std::string(e.message) == message);
  };
  refused(turn_of(b, ids.data(), 24), errc::context_overflow,
          "turn 1: context: expected at most 64 positions, found 65");
  refused(
      turn_of(b, &high, 1), errc::token_range,
      std::string("turn 1: token id: expected less than ") + std::to_string(high) + ", found " + std::to_string(high));
  for (cke_session* const wrong : {a.get(), stranger.get(), static_cast<cke_session*>(nullptr)})
    refused({wrong, ids.data(), 1, nullptr, nullptr, nullptr}, errc::usage,
            "turn 1: expected a sequence of the same model, in one turn, found another");
  check_at(a, 4);
  check_at(b, 41);
  check_at(c, 10);
}

TEST_CASE("export: hidden states instead of logits, in order, the bits that C++ gets") {
  const model_handle m = load();
  const session_handle a = open(m), b = open(m);
  const std::vector<u32> ids = some_ids(50);
  const auto take = [](void* to, uint32_t i, const float* row) {
    auto& out = *static_cast<std::vector<float>*>(to);
    CHECK(out.size() == u64{i} * typed::program::dim);
    out.insert(out.end(), row, row + typed::program::dim);
  };
  std::vector<float> rows, all;
  const cke_turn turns[]{turn_of(b, ids.data(), 7), {a.get(), ids.data(), 50, take, nullptr, &rows}};
  REQUIRE(cke_sessions_feed(turns, 2, nullptr) == 0);
  sequence& want = reference();
  sequence::feed_together(1, [&](u32) -> sequence::feeding { return {&want, ids, {take, &all}}; });
  REQUIRE(all.size() == 50 * typed::program::dim);
  CHECK(rows == all);
  CHECK(cke_session_position(a.get()) == 50);
  want.reset();
  want.feed(std::span(ids).first(7));
  CHECK(same_bits(cke_session_logits(b.get()), want.logits().data()));
}

TEST_CASE("export: the logits after each id of a turn, in order, and those of the last as ever") {
  const model_handle m = load();
  const session_handle a = open(m), b = open(m);
  const std::vector<u32> ids = some_ids(50);
  const auto take = [](void* to, uint32_t i, const float* row) {
    auto& out = *static_cast<std::vector<float>*>(to);
    CHECK(out.size() == u64{i} * typed::program::vocab);
    out.insert(out.end(), row, row + typed::program::vocab);
  };
  std::vector<float> rows, all;
  const cke_turn turns[]{turn_of(b, ids.data(), 7), {a.get(), ids.data(), 50, nullptr, take, &rows}};
  REQUIRE(cke_sessions_feed(turns, 2, nullptr) == 0);
  sequence& want = reference();
  want.feed_all(ids, [&](u32, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); });
  CHECK(rows == all);
  CHECK(same_bits(cke_session_logits(a.get()), want.logits().data()));
}

TEST_CASE("export: a session takes over what another has computed, and a full cache is an error") {
  const std::vector<u32> ids = some_ids(200);
  cke_options o = small;
  o.context = 200, o.cache_positions = 256;
  const model_handle m(cke_model_load(file.c_str(), &o, nullptr));
  REQUIRE(m);
  const session_handle a = open(m), b = open(m);
  REQUIRE(cke_session_feed(a.get(), ids.data(), 130, nullptr) == 0);
  cke_error e;
  CHECK(cke_session_feed(b.get(), ids.data(), 1, &e) == number(errc::cache_full));
  CHECK(std::string(e.message) == "cache: expected a free page of 128 positions, found all 2 in use");
  cke_session_rewind(a.get(), 128);
  u32 taken = 7;
  CHECK(cke_session_recall(a.get(), ids.data(), 200, &taken, &e) == number(errc::usage));
  REQUIRE(cke_session_recall(b.get(), ids.data(), 200, &taken, nullptr) == 0);
  CHECK(taken == 128);
  CHECK(cke_session_position(b.get()) == 128);
  REQUIRE(cke_session_feed(b.get(), ids.data() + 128, 2, nullptr) == 0);
  const session_handle c = open(m);
  cke_session_rewind(a.get(), 0);
  REQUIRE(cke_session_recall(c.get(), ids.data(), 129, &taken, nullptr) == 0);
  CHECK(taken == 128);
}

TEST_CASE("export: a session that cannot slide says which layer sees everything") {
  const session_handle s = open(load());
  cke_error e;
  u32 positions = 7;
  CHECK(cke_session_slide(s.get(), &positions, &e) == number(errc::unsupported));
  CHECK(std::string(e.message) ==
        "sliding: expected states that pass, windows or recurrent, in all layers, found layer 0, which sees all "
        "positions");
  CHECK(positions == 7);
}

TEST_CASE("export: a session is kept in a file, and goes on from there") {
  const model_handle m = load();
  const session_handle a = open(m), b = open(m);
  const std::vector<u32> ids = some_ids(40);
  const std::string path = std::filesystem::temp_directory_path() / ("cke-export-" + std::to_string(::getpid()));
  REQUIRE(cke_session_feed(a.get(), ids.data(), 30, nullptr) == 0);
  REQUIRE(cke_session_save(a.get(), path.c_str(), nullptr) == 0);
  REQUIRE(cke_session_load(b.get(), path.c_str(), nullptr) == 0);
  REQUIRE(cke_session_position(b.get()) == 30);
  CHECK(std::equal(ids.begin(), ids.begin() + 30, cke_session_history(b.get())));
  REQUIRE(cke_session_feed(b.get(), ids.data() + 30, 10, nullptr) == 0);
  REQUIRE(cke_session_feed(a.get(), ids.data() + 30, 10, nullptr) == 0);
  CHECK(same_bits(cke_session_logits(a.get()), cke_session_logits(b.get())));
  cke_error e;
  CHECK(cke_session_load(b.get(), path.c_str(), &e) == number(errc::usage));
  std::filesystem::remove(path);
  CHECK(cke_session_load(open(m).get(), path.c_str(), &e) == number(errc::file));
  CHECK(cke_session_load(open(m).get(), nullptr, &e) == number(errc::usage));
  CHECK(cke_session_save(a.get(), nullptr, &e) == number(errc::usage));
}

TEST_CASE("export: a session keeps its model; null is freed as nothing") {
  model_handle m = load();
  const session_handle s = open(m);
  m.reset();
  const u32 id = 3;
  CHECK(cke_session_feed(s.get(), &id, 1, nullptr) == 0);
  cke_model_free(nullptr);
  cke_session_free(nullptr);
}

TEST_CASE("export: null options are the defaults") {
  cke_error e;
  const model_handle m(cke_model_load(file.c_str(), nullptr, &e));
  REQUIRE_MESSAGE(m, e.message);
  CHECK(cke_model_facts(m.get()).context == 4096);
  const cke_options zeros{};
  const model_handle same(cke_model_load(file.c_str(), &zeros, nullptr));
  REQUIRE(same);
  const cke_facts a = cke_model_facts(m.get()), b = cke_model_facts(same.get());
  CHECK((a.context == b.context && a.threads == b.threads && a.activation_bytes == b.activation_bytes &&
         a.state_bytes == b.state_bytes));
}

TEST_CASE("export: errors carry a code and a message, and leave a session as it was") {
  cke_error e;
  CHECK(cke_model_load("/no/such/file.gguf", &small, &e) == nullptr);
  CHECK(e.code == number(errc::file));
  CHECK(std::strstr(e.message, "/no/such/file.gguf") != nullptr);
  CHECK(cke_model_load("/no/such/file.gguf", nullptr, nullptr) == nullptr);
  CHECK(cke_model_load(CKE_TEST_DATA "/models/gguf/llama_untied-F32.gguf", nullptr, &e) == nullptr);
  CHECK(e.code == number(errc::config_mismatch));
  const std::string deep = "/no/such/" + std::string(2000, 'x');
  CHECK(cke_model_load(deep.c_str(), nullptr, &e) == nullptr);
  CHECK(std::strlen(e.message) < sizeof e.message);
  cke_options wrong = small;
  wrong.chunk = 1 << 20;
  CHECK(cke_model_load(file.c_str(), &wrong, &e) == nullptr);
  CHECK(e.code == number(errc::config_range));
  CHECK(std::string(e.message) == "chunk: expected 1 to 65536, found 1048576");
  wrong = small;
  wrong.hints.huge_pages = 3;
  CHECK(cke_model_load(file.c_str(), &wrong, &e) == nullptr);
  CHECK(std::string(e.message) == "hints.huge_pages: expected 0 to 2, found 3");
  wrong = small;
  wrong.hints.spins = 1'000'001;
  CHECK(cke_model_load(file.c_str(), &wrong, &e) == nullptr);
  CHECK(std::string(e.message) == "hints.spins: expected 1 to 1000000, found 1000001");

  const model_handle m = load();
  const session_handle s = open(m);
  const std::vector<u32> ids = some_ids(65);
  CHECK(cke_session_feed(s.get(), ids.data(), 9, &e) == 0);
  CHECK(e.code == 0);
  const std::vector<float> before(cke_session_logits(s.get()), cke_session_logits(s.get()) + typed::program::vocab);
  CHECK(cke_session_feed(s.get(), ids.data(), 56, &e) == number(errc::context_overflow));
  CHECK(e.code == number(errc::context_overflow));
  CHECK(std::string(e.message) == "context: expected at most 64 positions, found 65");
  const u32 high = typed::program::vocab;
  CHECK(cke_session_feed(s.get(), &high, 1, nullptr) == number(errc::token_range));
  const auto thrown = [](void*, uint32_t, const float*) { throw std::runtime_error("no more"); };
  CHECK(cke_session_feed_all(s.get(), ids.data(), 4, thrown, nullptr, &e) == number(errc::unsupported));
  CHECK(std::string(e.message) == "no more");
  CHECK(cke_session_position(s.get()) == 9);
  CHECK(same_bits(before.data(), cke_session_logits(s.get())));
}

TEST_CASE("export: progress reaches its end, and the plan needs no model") {
  struct progress {
    u64 calls = 0, done = 0, total = 0;
  } seen;
  cke_options o = small;
  o.user = &seen;
  o.progress = [](void* user, uint64_t done, uint64_t total) {
    auto& p = *static_cast<progress*>(user);
    ++p.calls, p.done = done, p.total = total;
  };
  const model_handle m(cke_model_load(file.c_str(), &o, nullptr));
  REQUIRE(m);
  CHECK(seen.calls > 1);
  CHECK(seen.done == seen.total);

  std::string plan;
  const auto write = [](void* to, const char* text, std::size_t bytes) {
    static_cast<std::string*>(to)->append(text, bytes);
  };
  REQUIRE(cke_model_plan_json(&small, write, &plan, nullptr) == 0);
  CHECK(nlohmann::json::parse(plan).is_object());
  o = small;
  o.context = ~0u;
  cke_error e;
  CHECK(cke_model_plan_json(&o, write, &plan, &e) == number(errc::config_range));
}

TEST_CASE("export: tensors in memory, under either naming, are the same model") {
  sequence& want = reference();
  const std::vector<u32> ids = some_ids(12);
  want.feed(ids);
  struct set {
    tensor_index tensors;
    int32_t naming;
  };
  for (const set& one :
       {set{read_hf_weights(directory), CKE_NAMES_HF}, set{gguf::read(file).tensors(), CKE_NAMES_GGUF}}) {
    std::vector<std::vector<std::byte>> memory;
    std::vector<cke_tensor> list;
    for (const tensor_ref& t : one.tensors.tensors()) {
      memory.emplace_back(t.bytes.begin(), t.bytes.end());
      list.push_back({t.name.c_str(), static_cast<u32>(t.type), static_cast<u32>(t.shape.size()), t.shape.data(),
                      memory.back().data(), memory.back().size()});
    }
    cke_error e;
    struct {
      std::mutex one;
      std::multiset<std::pair<const void*, u64>> copied;
    } heard;
    cke_options o = small;
    o.user = &heard;
    o.copied = [](void* user, const void* data, uint64_t bytes) {
      std::memset(const_cast<void*>(data), 0xff, bytes);  // not a number, in every type
      auto& h = *static_cast<decltype(heard)*>(user);
      const std::scoped_lock lock(h.one);
      h.copied.emplace(data, bytes);
    };
    const auto attempt = [&] {
      return model_handle(cke_model_from_tensors(list.data(), list.size(), one.naming, "memory", &o, &e));
    };
    {
      const model_handle m = attempt();
      REQUIRE_MESSAGE(m, e.message);
      for (const cke_tensor& t : list) CHECK_MESSAGE(heard.copied.count({t.data, t.bytes}) == 1, t.name);
      CHECK(heard.copied.size() == list.size());
      const session_handle s = open(m);
      REQUIRE(cke_session_feed(s.get(), ids.data(), ids.size(), nullptr) == 0);
      CHECK(same_bits(cke_session_logits(s.get()), want.logits().data()));
    }
    const auto refused = [&] {
      CHECK(!attempt());
      return std::string(e.message);
    };
    const cke_tensor first = list.front();
    const std::string tensor = std::string("memory: tensor ") + first.name + ": ";
    list.front().bytes -= 1;
    CHECK(refused() == tensor + "expected the bytes of its shape, found " + std::to_string(first.bytes - 1));
    CHECK(e.code == number(errc::malformed));
    list.front() = first;
    list.front().type = 255;
    CHECK(refused().ends_with(", found another type"));
    CHECK(e.code == number(errc::tensor_dtype));
    list.front() = first;
    const u64 huge[]{u64{1} << 40, u64{1} << 40};
    list.front().shape = huge, list.front().rank = 2;
    CHECK(refused().starts_with(tensor + "expected elements that fit in 64 bits"));
    list.front() = first;
    list.front().rank = 9;
    CHECK(refused() == tensor + "expected at most 8 dimensions, found 9");
    list.front() = first;
    list.front().name = "another";
    CHECK(refused() == tensor + "expected this tensor, found none of this name");
    CHECK(e.code == number(errc::tensor_missing));
    list.front() = list.back();
    CHECK(!refused().empty());
    CHECK(e.code == number(errc::malformed));
    list.clear();
    CHECK(!refused().empty());
    CHECK(e.code == number(errc::tensor_missing));
  }
}

TEST_CASE("export: a watched model tells every step on every thread, and computes the same") {
  struct tally {
    std::atomic<u32> steps, waits, wrong;
    std::atomic<u64> busy;
  };
  const auto take = [](void* user, uint32_t thread, uint32_t code, uint32_t step, uint64_t begin, uint64_t end) {
    auto& t = *static_cast<tally*>(user);
    ++(step == tracer::waiting ? t.waits : t.steps);
    t.wrong += thread >= 2 || code >= typed::program::body_count + 2 || begin == 0 || end < begin;
    t.busy += end - begin;
  };
  const model_handle m = load();
  const session_handle plain = open(m), watched = open(m);
  for (const u32 count : {1u, 20u}) {  // one pass in each form
    const std::vector<u32> ids = some_ids(count);
    tally t{};
    REQUIRE(cke_session_feed(plain.get(), ids.data(), count, nullptr) == 0);
    cke_model_watch(m.get(), take, &t);
    REQUIRE(cke_session_feed(watched.get(), ids.data(), count, nullptr) == 0);
    cke_model_watch(m.get(), nullptr, nullptr);
    CHECK(t.wrong == 0);
    CHECK(t.busy > 0);
    const u32 worked = t.steps / typed::program::count();  // a team of two may work as one where cpus are short
    CHECK((worked == 1 || worked == 2));
    CHECK(t.steps == worked * typed::program::count());
    const u32 last = phases_of(typed::program::footer_code(), form::decode).barriers();  // of one row
    const form f = form_of(count);
    CHECK(t.waits ==
          worked * (typed::program::barriers(f) - phases_of(typed::program::footer_code(), f).barriers() + last));
    CHECK(same_bits(cke_session_logits(plain.get()), cke_session_logits(watched.get())));
    const u32 before = t.steps;
    REQUIRE(cke_session_feed(watched.get(), ids.data(), 1, nullptr) == 0);
    REQUIRE(cke_session_feed(plain.get(), ids.data(), 1, nullptr) == 0);
    CHECK(t.steps == before);
  }
}

namespace {

// Packed weights of a model, copied to memory of their own.
struct packed_copy {
  std::vector<std::string> names;
  std::vector<uint64_t> sizes;
  std::vector<std::byte> bytes;
  std::byte* at = nullptr;  // in bytes, aligned

  explicit packed_copy(const cke_model* m) {
    const auto take = [](void* to, const char* name, const void* data, uint64_t size) {
      packed_copy& copy = *static_cast<packed_copy*>(to);
      copy.names.emplace_back(name);
      copy.sizes.push_back(size);
      const auto* const from = static_cast<const std::byte*>(data);
      copy.bytes.insert(copy.bytes.end(), from, from + size);
    };
    REQUIRE(cke_model_packed(m, take, this, nullptr) == 0);
    const u64 size = bytes.size();
    bytes.resize(size + 64);
    const u64 shift =
        align_up(reinterpret_cast<std::uintptr_t>(bytes.data())) - reinterpret_cast<std::uintptr_t>(bytes.data());
    at = bytes.data() + shift;
    std::memmove(at, bytes.data(), size);
  }
  cke_packed packed() const { return {at, bytes.size() - 64, sizes.data(), sizes.size(), cke_form_of_packed()}; }
  // What is wrong with it.
  static std::string refusal(const cke_packed& p) {
    cke_error e;
    const model_handle m(cke_model_from_packed(&p, "there", &small, &e));
    CHECK_FALSE(m);
    return e.message;
  }
};

}  // namespace

TEST_CASE("export: a model over its packed weights has the same bits, and names what is wrong with them") {
  const model_handle m = load();
  packed_copy copy(m.get());
  CHECK(copy.bytes.size() - 64 == cke_model_facts(m.get()).weight_bytes);
  CHECK(copy.names.front() == "header.embed");
  CHECK(std::ranges::find(copy.names, "layers.1.norm.1") != copy.names.end());
  CHECK(std::set<std::string>(copy.names.begin(), copy.names.end()).size() == copy.names.size());

  const std::vector<u32> ids = some_ids(30);
  const session_handle first = open(m);
  REQUIRE(cke_session_feed(first.get(), ids.data(), ids.size(), nullptr) == 0);
  {
    cke_error e;
    const cke_packed p = copy.packed();
    const model_handle again(cke_model_from_packed(&p, "there", &small, &e));
    REQUIRE_MESSAGE(again, e.message);
    const session_handle second = open(again);
    REQUIRE(cke_session_feed(second.get(), ids.data(), ids.size(), nullptr) == 0);
    CHECK(same_bits(cke_session_logits(first.get()), cke_session_logits(second.get())));
    CHECK(packed_copy(again.get()).sizes == copy.sizes);
  }

  const auto wrong = [&](auto change) {
    cke_packed p = copy.packed();
    change(p);
    return copy.refusal(p);
  };
  const auto says = [](const std::string& message, const char* part) {
    INFO(message);
    CHECK(message.find(part) != std::string::npos);
  };
  says(wrong([](cke_packed& p) { p.form.program ^= 1; }), "there: program of packed weights: expected");
  says(wrong([](cke_packed& p) { ++p.form.layout; }), "there: layout of packed weights: expected 1, found 2");
  says(wrong([](cke_packed& p) { p.form.isa = "abacus"; }), "instruction set of packed weights");
  says(wrong([](cke_packed& p) { p.form.isa = nullptr; }), "found none");
  says(wrong([](cke_packed& p) { p.data = nullptr; }), "packed weights: expected a pointer");
  says(wrong([](cke_packed& p) { p.data = static_cast<const std::byte*>(p.data) + 8; }), "aligned to 64 bytes");
  says(wrong([](cke_packed& p) { p.bytes -= 64; }), "weight footer.norm");
  says(wrong([](cke_packed& p) { --p.count; }), "too few");
  says(wrong([&](cke_packed& p) {
         copy.sizes.push_back(0);
         p.sizes = copy.sizes.data(), ++p.count;
       }),
       "packed weights: expected");
  copy.sizes.pop_back();
  for (std::size_t i = 0; i < copy.sizes.size(); ++i)
    for (const u64 size : {copy.sizes[i] + 64, copy.sizes[i] - 64, u64{0}, ~u64{}}) {
      const u64 kept = std::exchange(copy.sizes[i], size);
      says(copy.refusal(copy.packed()), ("weight " + copy.names[i]).c_str());
      copy.sizes[i] = kept;
    }
  // A matrix in bf16 has sizes and places of its own, in the header of each unit.
  if constexpr (!simd::is_scalar<isa::native>)
    for (const u32 at : {64u, 72u}) {
      copy.at[at] ^= std::byte{1};
      says(copy.refusal(copy.packed()), "weight header.embed");
      copy.at[at] ^= std::byte{1};
    }
}

}  // namespace export_test

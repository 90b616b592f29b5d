// SPDX-License-Identifier: MIT
// allocation.cpp: after load, running a model asks the system for no memory; every malloc and mmap is counted.
#include <doctest/doctest.h>

#include "../byte_model.hpp"
#include "cke/model_adapter.hpp"
#include "expert_model.hpp"

// A sanitizer brings its own malloc, and only glibc has the names behind it.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CKE_COUNTS_ALLOCATIONS 1
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#undef CKE_COUNTS_ALLOCATIONS
#endif
#endif
#endif

#ifdef CKE_COUNTS_ALLOCATIONS

#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cmath>

namespace {
std::atomic<unsigned long> taken;  // by any thread, since the program began
}

// The program's own definitions come before those of libc, also for libstdc++ and its operator new.
extern "C" {
void* __libc_malloc(std::size_t) noexcept;
void* __libc_calloc(std::size_t, std::size_t) noexcept;
void* __libc_realloc(void*, std::size_t) noexcept;
void* __libc_memalign(std::size_t, std::size_t) noexcept;

void* malloc(std::size_t bytes) noexcept { return ++taken, __libc_malloc(bytes); }
void* calloc(std::size_t count, std::size_t bytes) noexcept { return ++taken, __libc_calloc(count, bytes); }
void* realloc(void* from, std::size_t bytes) noexcept { return ++taken, __libc_realloc(from, bytes); }
void* memalign(std::size_t align, std::size_t bytes) noexcept { return ++taken, __libc_memalign(align, bytes); }
void* aligned_alloc(std::size_t align, std::size_t bytes) noexcept { return ++taken, __libc_memalign(align, bytes); }
int posix_memalign(void** to, std::size_t align, std::size_t bytes) noexcept {
  *to = memalign(align, bytes);
  return *to ? 0 : ENOMEM;
}
void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  ++taken;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
}
}

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

namespace {

// How often f() asked for memory, on any thread.
template <class F> unsigned long taken_by(F&& f) {
  const unsigned long before = taken;
  f();
  return taken - before;
}

using tiny = Model<byte_model::tiny, BF16>;
using session = Session<tiny>;
const std::vector<u32> some_ids = random_model::ids(190, 259);

}  // namespace

TEST_CASE("allocation: the count counts") {
  CHECK(taken_by([] { std::vector<u32>(100).front() = 1; }) == 1);
  CHECK(taken_by([] { arena(100); }) >= 1);
  CHECK(taken_by([] { ::operator delete(::operator new(1000, std::align_val_t(64)), std::align_val_t(64)); }) == 1);
  CHECK(taken_by([] { std::thread([] { free(malloc(70)); }).join(); }) >= 2);
  CHECK(taken_by([] { byte_model::shared<BF16>().session(); }) > 0);
}

TEST_CASE("allocation: prefill, decoding, rewinding, and a fork into a session that is there take none") {
  session a = byte_model::shared<BF16>().session(), b = a;
  float sum = 0;
  CHECK(taken_by([&] {
          a.feed(std::span(some_ids).first(100));
          for (const u32 id : std::span(some_ids).subspan(100, 80)) a.feed(id);
          b = a;
          b.feed(some_ids[180]);
          a.rewind(20);
          a.feed_all(std::span(some_ids).subspan(20, 150), [&](u32, std::span<const float> row) { sum += row[0]; });
          a.reset();
          a.feed(some_ids);
        }) == 0);
  CHECK(std::isfinite(sum));
}

TEST_CASE("allocation: a mixture of experts takes none, whoever is chosen") {
  using M = random_model::with_experts;
  using machine = loaded<program<M, Q8_0>, dtype::bf16, isa::native>;
  const auto t = random_model::tensors::of<machine::program>();
  const auto m = std::make_shared<machine>(t.index(), "random", naming::hf, names_of<M>(),
                                           model_options{.threads = 2, .context = 190, .chunk = 60});
  sequence s(m);
  const std::vector<u32> ids = random_model::ids(190, 131);
  CHECK(taken_by([&] {
          s.feed(std::span(ids).first(150));
          for (const u32 id : std::span(ids).subspan(150)) s.feed(id);
        }) == 0);
}

TEST_CASE("allocation: sessions that are fed together take none") {
  session a = byte_model::shared<BF16>().session(), b = a, c = a;
  CHECK(taken_by([&] {
          for (u32 at = 0; at < 180; at += 60) {
            const session::feeding turns[]{{&a, std::span(some_ids).subspan(at, 60)},
                                           {&b, std::span(some_ids).first(1)},
                                           {&c, std::span(some_ids).first(30)}};
            session::feed_together(3, [&](u32 i) { return turns[i]; });
          }
        }) == 0);
  CHECK(c.position() == 90);
  a.feed(some_ids[180]);
  CHECK(taken_by([&] {
          b.reset();
          CHECK(b.recall(some_ids) == 128);
          b.feed(std::span(some_ids).subspan(128));
          a.rewind(100);  // into a page that b shares
          a.feed(std::span(some_ids).first(60));
        }) == 0);
}

TEST_CASE("allocation: none on any number of threads, nor behind the abstract class") {
  const auto t = random_model::tensors::of<program<byte_model::tiny, BF16>>();
  for (const u32 threads : {1u, 3u}) {
    const model_adapter<tiny> engine(tiny::load(t.checkpoint(), {.threads = threads, .context = 64}));
    const std::unique_ptr<any_session> talk = engine.open();
    const any_session::take_logits take = [](u32, std::span<const float>) {};
    CHECK(taken_by([&] {
            talk->feed(std::span(some_ids).first(40));
            talk->feed(some_ids[40]);
            talk->rewind(7);
            talk->feed_all(std::span(some_ids).first(30), take);
          }) == 0);
  }
}

TEST_CASE("allocation: a whole answer takes none: sampled, stopped, detokenized") {
  struct settings {
    std::string name;
    generate_options options;
  };
  std::vector<token_bias> words{{byte_model::end_id, -1e9f}, {byte_model::word_id, 5}, {byte_model::long_id, 5}};
  const std::vector<std::string> stops{"never", "\u00e9\u00e9 nnnn, or not at all", std::string(300, 'n') + "!"};
  const settings all[]{
      {"greedy", {.max_tokens = 150}},
      {"temperature", {.max_tokens = 150, .sample = {.temperature = 3, .seed = 1}, .ignore_stop_ids = true}},
      {"top_k", {.max_tokens = 150, .sample = {.temperature = 2, .top_k = 40, .seed = 2}, .ignore_stop_ids = true}},
      {"everything",
       {.max_tokens = 150,
        .sample = {.temperature = 2,
                   .top_k = 200,
                   .top_p = 0.95f,
                   .min_p = 0.001f,
                   .typical_p = 0.9f,
                   .repetition_penalty = 1.1f,
                   .frequency_penalty = 0.1f,
                   .presence_penalty = 0.1f,
                   .repeat_last_n = ~0u,
                   .logit_bias = words,
                   .seed = 3},
        .stop = stops}},
      {"long pieces", {.max_tokens = 150, .sample = {.logit_bias = {{byte_model::long_id, 1000}}}, .stop = stops}},
      {"bytes that are no text", {.max_tokens = 150, .sample = {.logit_bias = {{0xc3, 1000}}}, .stop = stops}},
  };
  for (const settings& one : all) {
    CAPTURE(one.name);
    session s = byte_model::shared<BF16>().session();
    auto answer = s.generate(std::span(some_ids).first(20), one.options);
    std::size_t bytes = 0;
    CHECK(taken_by([&] {
            for (const std::string_view piece : answer) bytes += piece.size();
          }) == 0);
    CHECK(bytes >= answer.ids().size());
    CHECK(answer.ids().size() == 150);
  }
}

TEST_CASE("allocation: an answer up to the last position takes none") {
  session s = byte_model::shared<BF16>().session();
  s.feed(some_ids);
  auto answer = s.generate(std::span<const u32>{}, {.max_tokens = 3, .ignore_stop_ids = true});  // the last is not fed
  CHECK(taken_by([&] {
          for ([[maybe_unused]] const std::string_view piece : answer) {}
        }) == 0);
  CHECK(answer.ids().size() == 3);
  CHECK(s.position() == s.context());
}

#endif

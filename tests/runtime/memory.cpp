// SPDX-License-Identifier: MIT
// memory.cpp: at no time does a model hold more memory than its weights, its states and 32 MiB, loading included.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "random_model.hpp"

// A sanitizer's own memory counts too.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CKE_COUNTS_MEMORY 1
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#undef CKE_COUNTS_MEMORY
#endif
#endif
#endif

#ifdef CKE_COUNTS_MEMORY

namespace memory_test {

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

namespace {

// Its largest matrix takes 78 MiB in the file (F32) and 39 MiB packed (BF16).
struct wide
    : network<
          embedding<40000, 512>,
          stack<
              1,
              block<
                  residual<
                      rms_norm<512, 1e-6>,
                      attention<attention_options{
                          .dim = 512, .heads = 4, .kv_heads = 2, .head_dim = 64, .rope = {.dims = 64, .theta = 1e4}}>>,
                  residual<rms_norm<512, 1e-6>, gated_mlp<512, 512, activation::silu>>>>,
          rms_norm<512, 1e-6>, head<512, 40000, true>> {};
using P = program<wide, BF16>;
using held = loaded<P, dtype::bf16, isa::native>;

// A line of /proc/self/status, in bytes; 0 when there is none.
u64 status(std::string_view key) {
  std::ifstream lines("/proc/self/status");
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(key)) return std::stoull(line.substr(key.size())) * 1024;
  return 0;
}

// The most memory held while f() ran, less what was held before; 0 where the system does not tell.
template <class F> u64 peak_of(F&& f) {
  if (!(std::ofstream("/proc/self/clear_refs") << 5 << std::flush)) return 0;  // VmHWM starts again
  const u64 before = status("VmRSS:");
  f();
  return before == 0 ? 0 : status("VmHWM:") - before;
}

// The tensors of P as zeros in a file, which takes no space on the disk.
class file_of_zeros {
 public:
  file_of_zeros() : path_(std::filesystem::temp_directory_path() / ("cke_zeros_" + std::to_string(getpid()))) {
    const auto all = random_model::tensors::of<P>();
    u64 size = 0;
    for (const tensor_ref& t : all.list) size += t.bytes.size();
    std::ofstream(path_).close();
    std::filesystem::resize_file(path_, size);
    const auto map = std::make_shared<const mapped_file>(path_.string());
    std::vector<tensor_ref> list = all.list;
    for (u64 at = 0; tensor_ref & t : list)
      t.file = map, at += (t.bytes = map->bytes().subspan(at, t.bytes.size())).size();
    index = tensor_index(std::move(list));
  }
  ~file_of_zeros() { std::filesystem::remove(path_); }

  tensor_index index;

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("memory: the count sees a mapped file and an arena, and what was only asked for is free") {
  const file_of_zeros file;
  const u64 bytes = file.index.find("model.embed_tokens.weight")->bytes.size();
  volatile u8 sum = 0;
  const u64 read = peak_of([&] {
    for (u64 i = 0; i < bytes; i += 4096)
      sum = sum + static_cast<u8>(file.index.find("model.embed_tokens.weight")->bytes[i]);
  });
  if (read == 0) return;
  CHECK(read > 70 << 20);
  CHECK(peak_of([] {
          arena a(64 << 20);
          std::memset(a.data(), 1, 32 << 20);
        }) < 40 << 20);
}

TEST_CASE("memory: loading and running hold no more than weights, states and 32 MiB") {
  for (const u32 threads : {1u, 2u, 5u}) {
    CAPTURE(threads);
    const file_of_zeros file;
    u64 allowed = 32 << 20;
    const u64 peak = peak_of([&] {
      const auto model = std::make_shared<held>(file.index, "zeros", naming::hf, names_of<wide>(),
                                                model_options{.threads = threads, .context = 1024});
      sequence s(model);
      s.feed(random_model::ids(600, P::vocab));
      allowed += model->packed.bytes() + model->state_bytes();
    });
    CHECK(peak > 0);
    CHECK(peak <= allowed);
    MESSAGE("peak ", peak >> 20, " MiB, allowed ", allowed >> 20);
  }
}

}  // namespace memory_test

#endif

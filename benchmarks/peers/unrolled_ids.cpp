// SPDX-License-Identifier: MIT
// unrolled_ids.cpp DIR tables|unrolled PROMPT COUNT SECONDS: decodes on one thread, with the weights of DIR in FORMAT.
// unrolled_ids.cpp BYTES: GB/s at which one thread reads so many bytes again and again.
// unrolled_peers.py and unrolled_sizes.py compile it with -DFORMAT= and -DSHAPE=, and explain arguments and output.
#include <cke/hf.hpp>
#include <cke/qwen3.hpp>
#include <cke/unrolled.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <iostream>
#include <sstream>

namespace {

using namespace cke;

struct small : qwen3<{SHAPE}> {};

double now(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <class How> void decode(const char* dir, std::vector<u32> ids, u32 count, double seconds) {
  const auto before = static_cast<u32>(ids.size());
  const auto model = Model<small, FORMAT, default_kv<FORMAT>, isa::native, How>::load(
      hf(dir), {.threads = 1, .context = before + count});
  auto session = model.session();
  session.feed(ids);
  for (u32 t = 0; t < count; ++t) {
    if (t > 0) session.feed(ids.back());
    const auto logits = session.logits();
    ids.push_back(static_cast<u32>(std::ranges::max_element(logits) - logits.begin()));
    std::printf("%s%u", t ? ", " : "{\"ids\": [", ids.back());
  }
  const double end = now(CLOCK_MONOTONIC) + seconds;
  for (u32 run = 0; run == 0 || now(CLOCK_MONOTONIC) < end; ++run) {
    session.rewind(before);
    const double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    for (u32 t = before; t < before + count; ++t) session.feed(ids[t]);
    const double took = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    std::printf("%s[%.9f, %.9f]", run ? ", " : "], \"seconds\": [", took, now(CLOCK_MONOTONIC) - wall);
  }
  std::puts("]}");
}

// GB/s of CPU time at which whole registers are summed over so many bytes again and again: only loads limit it.
double read_gbs(u64 bytes) {
  using vi32 = simd::vi32<isa::native>;
  constexpr u64 chains = 8, step = chains * sizeof(vi32);
  bytes = bytes / step * step;
  runtime::arena memory(bytes);
  const std::byte* const begin = memory.take(bytes);
  std::memset(memory.data(), 1, bytes);
  const u64 times = (u64{1} << 28) / bytes;
  std::array<double, 25> rates{};
  for (double& rate : rates) {
    const double start = now(CLOCK_PROCESS_CPUTIME_ID);
    for (u64 t = 0; t < times; ++t) {
      std::array<vi32, chains> sum{};
      for (const std::byte* at = begin; at < begin + bytes; at += step)
#pragma GCC unroll 8
        for (u64 k = 0; k < chains; ++k)
          sum[k] += vi32::load_aligned(reinterpret_cast<const i32*>(at + k * sizeof(vi32)));
      asm volatile("" : : "r"(&sum) : "memory");  // the sums are used
    }
    rate = static_cast<double>(times * bytes) / (now(CLOCK_PROCESS_CPUTIME_ID) - start) / 1e9;
  }
  std::ranges::nth_element(rates, rates.begin() + 12);
  return rates[12];
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 2) return std::printf("{\"read_gbs\": %.1f}\n", read_gbs(std::stoull(argv[1]))), 0;
  const std::string how = argc == 6 ? argv[2] : "";
  if (how != "tables" && how != "unrolled")
    return std::cerr << "usage: unrolled_ids DIR tables|unrolled PROMPT COUNT SECONDS, or unrolled_ids BYTES\n", 2;
  std::vector<u32> prompt;
  std::istringstream words(argv[3]);
  for (std::string id; std::getline(words, id, ',');) prompt.push_back(static_cast<u32>(std::stoul(id)));
  const auto count = static_cast<u32>(std::stoul(argv[4]));
  const double seconds = std::stod(argv[5]);
  if (how == "unrolled") decode<unrolled>(argv[1], prompt, count, seconds);
  else decode<runtime::by_tables>(argv[1], prompt, count, seconds);
} catch (const Error& e) { return std::cerr << "unrolled_ids: " << e.what() << '\n', 1; }

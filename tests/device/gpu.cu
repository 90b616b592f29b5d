// SPDX-License-Identifier: MIT
// gpu.cu: ./dev device-check: what a GPU is claimed to do, done on one. A table to stderr, JSON to stdout.
#include <chrono>
#include <cke/cuda/executor.cuh>
#include <cke/cuda/gpu.cuh>
#include <cstdio>

#include "check.hpp"

using namespace cke;

namespace {

using on_gpu = cuda::isa<cuda::gpu>;

// Rows of the table, and the fields of the JSON object.
struct report {
  std::string json;
  bool good = true;
  void number(const std::string& name, double value, const char* unit) {
    std::fprintf(stderr, "%-44s %12.4g %s\n", name.c_str(), value, unit);
    json += (json.empty() ? "\"" : ", \"") + name + "\": " + std::to_string(value);
  }
  void check(const std::string& name, bool holds) {
    std::fprintf(stderr, "%-44s %12s\n", name.c_str(), holds ? "holds" : "DOES NOT HOLD");
    json += (json.empty() ? "\"" : ", \"") + name + (holds ? "\": true" : "\": false");
    good = good && holds;
  }
};

template <class F> double seconds(F&& f) {
  cuda::check(cudaDeviceSynchronize(), "a wait");
  const auto start = std::chrono::steady_clock::now();
  f();
  cuda::check(cudaDeviceSynchronize(), "a wait");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
// The median of some runs, after two that do not count.
template <class F> double median_seconds(u32 runs, F&& f) {
  f(), f();
  std::vector<double> all;
  for (u32 i = 0; i < runs; ++i) all.push_back(seconds(f));
  std::ranges::sort(all);
  return all[runs / 2];
}

__global__ void read_all(const dev::quad* from, u64 count, u32* never) {
  u32 all = 0;
  for (u64 i = u64{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += u64{gridDim.x} * blockDim.x) {
    const dev::quad q = dev::stream(from + i);
    all |= q.word[0] | q.word[1] | q.word[2] | q.word[3];
  }
  if (all) *never = all;  // the memory is zeros
}

double read_peak(report& r, cuda::gpu& device, u32 processors) {
  constexpr u64 bytes = u64{2} << 30;
  std::byte* const memory = device.allocate(bytes);
  cuda::check(cudaMemset(memory, 0, bytes), "zeros");
  const auto* const from = reinterpret_cast<const dev::quad*>(memory);
  const double t = median_seconds(10, [&] { read_all<<<processors * 8, 512>>>(from, bytes / 16, reinterpret_cast<u32*>(memory)); });
  device.free(memory);
  const double peak = static_cast<double>(bytes) / t * 1e-9;
  r.number("read_peak_gb_per_s", peak, "GB/s");
  return peak;
}

void launch_costs(report& r, cuda::gpu& device) {
  constexpr u32 launches = 500;
  std::byte* const memory = device.allocate(4096);
  cuda::step s;
  s.tokens = 1;
  s.in[0] = {memory, 32, 64, dtype::f32}, s.out[0] = {memory + 2048, 32, 64, dtype::f32};
  const auto all = [&] {
    for (u32 i = 0; i < launches; ++i) device.launch<cuda::step_kernel<opcode::residual_save, dtype::f32>>({}, s);
  };
  const auto graph = device.record(all);
  r.number("launch_us", median_seconds(10, all) / launches * 1e6, "us each");
  r.number("launch_in_a_graph_us", median_seconds(10, [&] { device.replay(graph); }) / launches * 1e6, "us each");
  device.free(memory);
}

// A launch that does nothing but wait, `tokens` times.
struct waits {
  using call = cuda::megakernel_call;
  static constexpr u32 shared_bytes = 16;
  template <class Arch> struct on {
    CKE_DEVICE static void run(const call& c) {
      cuda::from_memory none;
      cuda::resident<Arch> me(c, none, 0, 0);
      for (u32 i = 0; i < c.tokens; ++i) me.exchange();
    }
  };
};

void exchange_cost(report& r, cuda::gpu& device) {
  constexpr u32 exchanges = 10'000;
  std::byte* const words = device.allocate(8);
  cuda::megakernel_call call{.tokens = exchanges, .blocks = device.blocks_together<waits>(waits::shared_bytes), .patience = cuda::patience};
  call.arrived = reinterpret_cast<u32*>(words), call.end = call.arrived + 1;
  const double t = median_seconds(10, [&] {
    cuda::check(cudaMemset(words, 0, 8), "zeros");
    device.launch_together<waits>(call.blocks, waits::shared_bytes, call, [] {});
  });
  u32 end[2];
  device.read(end, words, sizeof end);
  device.free(words);
  r.check("all_blocks_come_to_exchanges", end[0] == exchanges * call.blocks && end[1] == 0);
  r.number("exchange_us", t / exchanges * 1e6, "us each");
}

struct difference {
  u64 bits = 0;  // numbers that are not the same bits
  double most = 0, relative = 0;
  difference(std::span<const float> a, std::span<const float> b) {
    double error = 0, size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double d = std::abs(double{a[i]} - double{b[i]});
      bits += std::memcmp(&a[i], &b[i], sizeof(float)) != 0;
      most = d <= most ? most : d, error += d * d, size += double{b[i]} * double{b[i]};
    }
    relative = std::sqrt(error / size);
  }
};

template <class Formats>
void check_format(report& r, const std::string& name, const random_model::tensors& t, const device_check::answer& cpu, std::span<const u32> prompt, double peak) {
  using machine = device_check::machine<Formats, on_gpu>;
  const auto model = device_check::load<machine>(t, 4608);
  const auto gpu = device_check::ask(model, prompt, static_cast<u32>(cpu.greedy.size()));
  const difference d(gpu.logits, cpu.logits);
  r.number(name + "_logits_not_the_cpus_bits", static_cast<double>(d.bits), "numbers");
  r.number(name + "_logits_largest_difference", d.most, "");
  r.check(name + "_logits", std::is_same_v<Formats, Q8_0> && device_check::cpu_has_the_order() ? d.bits == 0 : d.relative <= 1e-2);
  r.check(name + "_greedy_ids", gpu.greedy == cpu.greedy);
  bool again = true;
  for (u32 i = 0; i < 20; ++i) again = again && device_check::ask(model, prompt, 0).logits == gpu.logits;
  r.check(name + "_same_bits_20_times", again);

  using sequence = cke::sequence<machine>;
  const std::vector<u32> text = random_model::ids(4096, machine::program::vocab, 3);
  const auto bytes_of_weights = static_cast<double>(model->packed.bytes());
  for (const u32 length : {1u, 1024u, 4096u}) {
    sequence s(model);
    const double fill = seconds([&] { s.feed(std::span(text).first(length)); });
    const std::string at = "_at_" + std::to_string(length);
    if (length > 1) r.number(name + "_prompt_tokens_per_s" + at, length / fill, "tokens/s");
    const double one = median_seconds(64, [&] { s.feed(text[0]); });
    r.number(name + "_tokens_per_s" + at, 1 / one, "tokens/s");
    r.number(name + "_weights_of_read_peak" + at, bytes_of_weights / one * 1e-9 / peak, "");
  }
  const auto yes = [](u32) { return true; };
  {  // many tokens in one launch, against the ids and logits of a launch for each step
    sequence ahead(model), steps(model);
    ahead.feed(prompt), steps.feed(prompt);
    std::vector<u32> ids;
    while (ids.size() < 256) {
      ids.push_back(device_check::best(steps.logits()));
      steps.feed(ids.back());
    }
    r.check(name + "_ahead_ids", ahead.generate_nosync(256, {}, yes) == ids);
    r.check(name + "_ahead_logits", std::ranges::equal(ahead.logits(), steps.logits()));
    const chance how{0.8f, 1};
    for (u32& id : ids) {
      id = steps.choose(how);
      steps.feed(id);
    }
    r.check(name + "_ahead_ids_by_chance", ahead.generate_nosync(256, {}, yes, how) == ids);
  }
  for (const u32 length : {1u, 1024u, 4096u}) {
    sequence s(model);
    s.feed(std::span(text).first(length));
    const double one = median_seconds(3, [&] { s.generate_nosync(64, {}, yes); }) / 64;
    const std::string at = "_at_" + std::to_string(length);
    r.number(name + "_ahead_tokens_per_s" + at, 1 / one, "tokens/s");
    r.number(name + "_ahead_weights_of_read_peak" + at, bytes_of_weights / one * 1e-9 / peak, "");
  }
  std::vector<sequence> many(8, sequence(model));
  const double eight = median_seconds(32, [&] {
    sequence::feed_together(8, [&](u32 i) { return typename sequence::feeding{&many[i], std::span(text).subspan(i, 1)}; });
  });
  r.number(name + "_tokens_per_s_of_8", 8 / eight, "tokens/s");
}

int run() {
  report r;
  cuda::gpu device;
  cudaDeviceProp is{};
  cuda::check(cudaGetDeviceProperties(&is, 0), "the device");
  std::fprintf(stderr, "%s, sm_%d%d, %d multiprocessors\n", is.name, is.major, is.minor, is.multiProcessorCount);
  const double peak = read_peak(r, device, static_cast<u32>(is.multiProcessorCount));
  launch_costs(r, device);
  exchange_cost(r, device);
  const auto t = random_model::tensors::of<program<device_check::M, F32>>();
  const std::vector<u32> prompt = random_model::ids(40, program<device_check::M, F32>::vocab);
  check_format<Q8_0>(r, "q8_0", t, device_check::cpu_answer_q8_0(t, prompt, 64), prompt, peak);
  check_format<BF16>(r, "bf16", t, device_check::cpu_answer_bf16(t, prompt, 64), prompt, peak);
  std::printf("{\"device\": \"%s\", \"cpu\": \"%s\", %s}\n", is.name, device_check::cpu_name().c_str(), r.json.c_str());
  return r.good ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "device-check: %s\n", e.what());
    return 1;
  }
}

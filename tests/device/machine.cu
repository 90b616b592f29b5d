// SPDX-License-Identifier: MIT
// machine.cu: what the device is, how fast it reads, and what launches and exchanges cost on it.
#include <cke/cuda/ahead.cuh>

#include "check.hpp"
#include "timing.cuh"
#include "watch.hpp"

namespace device_check {

namespace {

__global__ void read_all(const dev::quad* from, u64 count, u32* never) {
  u32 all = 0;
  for (u64 i = u64{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += u64{gridDim.x} * blockDim.x) {
    const dev::quad q = dev::stream(from + i);
    all |= q.word[0] | q.word[1] | q.word[2] | q.word[3];
  }
  if (all) *never = all;  // the memory is zeros
}

cudaDeviceProp first_device() {
  cudaDeviceProp is{};
  cuda::check(cudaGetDeviceProperties(&is, 0), "the device");
  return is;
}
u32 attribute(cudaDeviceAttr which) {
  int value{};
  cuda::check(cudaDeviceGetAttribute(&value, which, 0), "an attribute of the device");
  return static_cast<u32>(value);
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
  r.number("launch_us", median_seconds(10, all) / launches * 1e6, "us each");
  const auto graph = device.record(all);  // only now: a driver may load a kernel at its first launch, not in a capture
  r.number("launch_in_a_graph_us", median_seconds(10, [&] { device.replay(graph); }) / launches * 1e6, "us each");
  device.free(memory);
}

// A launch that does nothing but wait, `tokens` times: all blocks for all, or those of a cluster for one another.
template <bool InGroup> struct waits {
  using call = cuda::megakernel_call;
  static constexpr u32 shared_bytes = 16;
  template <class Arch> struct on {
    CKE_DEVICE static void run(const call& c) {
      cuda::from_memory none;
      cuda::resident<Arch> me(c, none, 0, 0);
      for (u32 i = 0; i < c.tokens; ++i) InGroup ? me.exchange_in_group() : me.exchange();
    }
  };
};

template <class Waits> void exchange_cost(report& r, cuda::gpu& device, const std::string& name, cuda::residents live) {
  constexpr u32 exchanges = 10'000;
  const u64 bytes = u64{1 + live.blocks / live.of_group()} * cuda::line_words * sizeof(u32);
  std::byte* const words = device.allocate(bytes);
  cuda::megakernel_call call{
      .tokens = exchanges, .blocks = live.blocks, .group = live.of_group(), .patience = cuda::patience};
  call.arrived = reinterpret_cast<u32*>(words), call.end = call.arrived + 1;
  if (live.group > 0) call.arrived_in_group = call.arrived + cuda::line_words;
  const double t = median_seconds(
      10, [&] { device.clear(words, bytes); },
      [&] { device.launch_together<Waits>(live, Waits::shared_bytes, call, [] {}); });
  u32 end[2];
  device.read(end, words, sizeof end);
  device.free(words);
  if (live.cluster == 1 && live.group == 0)
    r.check("all_blocks_come_to_exchanges", end[0] == exchanges * live.blocks && end[1] == 0);
  r.number(name + "_us", t / exchanges * 1e6, "us each");
}
// Rows of 1,024 words, one after the other: 32 blocks send 32 words each, and every block hears all.
struct rows {
  using call = cuda::megakernel_call;
  static constexpr u32 shared_bytes = 16, words = 4 * cuda::block_threads;
  CKE_DEVICE static bool came(const dev::two_packets& both, u32 n) {
    return both.first.epoch >= n && both.second.epoch >= n;
  }
  template <class> struct on {
    CKE_DEVICE static void run(const call& c) {
      for (u32 n = 1; n <= c.tokens; ++n) {
        dev::packet* const row = c.packets + n % 2 * words;
        const u32 mine = dev::block().x * 32 + dev::thread();
        if (dev::thread() < 32 && mine < words) dev::send(row + mine, {n, n});
        for (u32 i = 2 * dev::thread();; dev::pause())
          if (const auto a = dev::hear(row + i), b = dev::hear(row + words / 2 + i); came(a, n) && came(b, n)) break;
        dev::sync();
      }
    }
  };
};
void row_cost(report& r, cuda::gpu& device) {
  constexpr u32 count = 10'000;
  constexpr u64 bytes = 2 * rows::words * sizeof(dev::packet);
  std::byte* const packets = device.allocate(bytes);
  const cuda::residents live = device.room_for<rows>(rows::shared_bytes, 0);
  cuda::megakernel_call call{.tokens = count};
  call.packets = reinterpret_cast<dev::packet*>(packets);
  const double t = median_seconds(
      10, [&] { device.clear(packets, bytes); },
      [&] { device.launch_together<rows>(live, rows::shared_bytes, call, [] {}); });
  device.free(packets);
  if (live.blocks >= 32) r.number("row_in_packets_us", t / count * 1e6, "us each");
  else r.absent("row_in_packets_us", "the device has fewer than 32 blocks at once");
}
// Clusters whose blocks have all the memory that one may have.
void exchange_costs(report& r, cuda::gpu& device) {
  const cuda::residents all = device.room_for<waits<false>>(waits<false>::shared_bytes, 0);
  exchange_cost<waits<false>>(r, device, "exchange", all);
  if (const u32 group = all.blocks / 8; group > 0)
    exchange_cost<waits<true>>(r, device, "exchange_of_a_group", {group * 8, 1, group});
  for (const u32 size : {16u, 8u}) {
    const std::string name = "clusters_of_" + std::to_string(size);
    const u32 clusters = device.most_clusters<waits<true>>(size, device.block_memory());
    r.number(name, clusters, "at once");
    if (clusters > 1) exchange_cost<waits<true>>(r, device, name + "_exchange", {clusters * size, size});
    else r.absent(name + "_exchange_us", "the device has no room for two of them");
  }
}

}  // namespace

int cuda_of_kernels() { return CUDART_VERSION; }
std::string bus_id() {
  char id[32]{};
  cuda::check(cudaDeviceGetPCIBusId(id, sizeof id, 0), "where the device is");
  return id;
}

void describe_device(report& r) {
  const cudaDeviceProp is = first_device();
  r.text("device",
         std::string(is.name) + ", sm_" + std::to_string(is.major) + std::to_string(is.minor) + ", " +
             std::to_string(is.multiProcessorCount) + " multiprocessors");
  int driver{}, runtime{};
  cuda::check(cudaDriverGetVersion(&driver), "the driver"), cuda::check(cudaRuntimeGetVersion(&runtime), "the runtime");
  r.number("driver_takes_cuda", driver / 1000 + driver % 1000 / 10 * 0.1, "");
  r.number("runtime_is_cuda", runtime / 1000 + runtime % 1000 / 10 * 0.1, "");
  r.number("device_memory_gb", static_cast<double>(is.totalGlobalMem) * 1e-9, "GB");
  r.number("shared_memory_of_a_block", attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), "bytes");
  r.number("launches_are_ended_after_a_time", attribute(cudaDevAttrKernelExecTimeout), "");
  const management nvml(bus_id());
  if (!nvml.why_not().empty()) return r.absent("clocks", nvml.why_not());
  r.number("sm_most_mhz", nvml.most_mhz(management::clock::sm), "MHz");
  r.number("memory_most_mhz", nvml.most_mhz(management::clock::memory), "MHz");
  r.number("temperature", nvml.temperature(), "degrees Celsius");
}

// Of 8 GB, or what fits: many times what the caches hold, and so long that a launch costs nothing beside it.
void check_read_peak(report& r) {
  cuda::gpu device;
  std::size_t free{}, all{};
  cuda::check(cudaMemGetInfo(&free, &all), "the memory that is free");
  const u64 bytes = std::min<u64>(u64{8} << 30, free / 4 * 3) / 4096 * 4096;
  std::byte* const memory = device.allocate(bytes);
  device.clear(memory, bytes);
  const auto* const from = reinterpret_cast<const dev::quad*>(memory);
  const u32 blocks = attribute(cudaDevAttrMultiProcessorCount) * 8;
  const watch clocks;
  const double t = median_device_seconds(10, device.stream(), [&] {
    read_all<<<blocks, 512, 0, device.stream()>>>(from, bytes / 16, reinterpret_cast<u32*>(memory));
    cuda::check(cudaGetLastError(), "a launch");
  });
  device.free(memory);
  r.number("read_gb", static_cast<double>(bytes) * 1e-9, "GB");
  r.number("read_peak_gb_per_s", static_cast<double>(bytes) / t * 1e-9, "GB/s");
  clocks.rows(r, "read_peak");
}

void check_launches(report& r) {
  cuda::gpu device;
  launch_costs(r, device);
}
void check_exchanges(report& r) {
  cuda::gpu device;
  r.step("exchange_costs", [&] { exchange_costs(r, device); });
  r.step("row_cost", [&] { row_cost(r, device); });
}

}  // namespace device_check

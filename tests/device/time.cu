// SPDX-License-Identifier: MIT
// time.cu: where the time of a token goes: between which waits, and what rings alone and the chain alone would take.
#include <cke/cuda/executor.cuh>

#include "check.hpp"
#include "halves.hpp"
#include "lean.hpp"
#include "stops.hpp"
#include "timing.cuh"

namespace device_check {

namespace {

struct clocked : lean {
  using pace = stops::pace;
};
struct without_weights : lean {
  template <class P, dtype KV> using persistent = halves::chain<P, KV>;
};
struct of_rings : lean {
  template <class P, dtype KV> using persistent = halves::rings<P, KV>;
};

template <class Formats, class Device> auto sequence_on(const random_model::tensors& t) {
  auto s = new_sequence(load<machine<Formats, cuda::isa<Device>>>(t, 1024));
  s.feed(prompt_ids());
  return s;
}

bool has_rings() {
  int major{};
  cuda::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "an attribute of the device");
  return major >= 8;
}

template <class Formats> void by_stops(report& r, const std::string& name, const random_model::tensors& t) {
  using kernel = typename cuda::persistent_kernel<program<M, Formats>, default_kv<Formats>, clocked>::type;
  const std::vector<stops::wait> waits = stops::waits_of_token<typename kernel::plan>();
  constexpr u32 tokens = 33;
  clocked device;
  if (device.launch_limit() > 0) return r.absent(name + "_time", "launches may not take long beside a display");
  const u32 blocks =
      device.room_for<kernel>(kernel::shared_bytes(kernel::slots_of(device.block_memory())), kernel::plan::heads)
          .blocks;
  const u32 count = static_cast<u32>(2 * waits.size() * tokens);
  const u64 of_cycles = u64{count} * blocks * sizeof(u64), of_nanoseconds = u64{count} * sizeof(u64);
  std::byte *const cycles = device.allocate(of_cycles), *const nanoseconds = device.allocate(of_nanoseconds);
  device.clear(cycles, of_cycles), device.clear(nanoseconds, of_nanoseconds);

  auto s = sequence_on<Formats, clocked>(t);
  s.generate_nosync(tokens, {}, yes);  // loads the kernel
  const stops::log here{reinterpret_cast<u64*>(cycles), reinterpret_cast<u64*>(nanoseconds), count, blocks};
  const auto write_down = [&](const stops::log& l) {
    cuda::check(cudaMemcpyToSymbolAsync(stops::where, &l, sizeof l, 0, cudaMemcpyHostToDevice, device.stream()),
                "where stops are written down");
    cuda::check(cudaStreamSynchronize(device.stream()), "a copy");
  };
  write_down(here);
  s.rewind(answer::prompt), s.generate_nosync(tokens, {}, yes);
  write_down({});
  std::vector<u64> all(u64{count} * blocks), times(count);
  device.read(all.data(), cycles, of_cycles), device.read(times.data(), nanoseconds, of_nanoseconds);
  device.free(cycles), device.free(nanoseconds);
  const bool as_planned = std::ranges::count(all, u64{0}) == 0;
  r.check(name + "_stops_are_as_planned", as_planned);
  if (!as_planned) return;

  const stops::table table = stops::table_of(waits, all, times, blocks, tokens);
  r.number(name + "_time_of_a_token_us", table.token, "us");
  for (const auto& [part, of] : table.parts) {
    const std::string row = name + "_time_" + part;
    r.number(row + "_times", of.count, "a token");
    r.number(row + "_work_us", of.work, "us a token"), r.number(row + "_most_work_us", of.most_work, "us a token");
    r.number(row + "_wait_us", of.wait, "us a token");
  }
}
// Tokens a second of one half of a token by itself.
template <class Formats, class Device> void half(report& r, const std::string& name, const random_model::tensors& t,
                                                 double peak, bool reads) {
  auto s = sequence_on<Formats, Device>(t);
  constexpr u32 tokens = 256;
  const double each =
      median_seconds(3, [&] { s.rewind(answer::prompt); }, [&] { s.generate_nosync(tokens, {}, yes); }) / tokens;
  r.number(name + "_us", each * 1e6, "us a token");
  if (!reads) return;
  const double rate = static_cast<double>(s.model().packed.bytes()) / each * 1e-9;
  r.number(name + "_gb_per_s", rate, "GB/s");
  if (std::isfinite(peak)) r.number(name + "_of_read_peak", rate / peak, "");
}

}  // namespace

template <class Formats> void check_time(report& r, const std::string& name, const random_model::tensors& t,
                                         double peak) {
  if (!has_rings()) return r.absent(name + "_time", "the device has no rings");  // nor does this unit have code for it
  r.step(name + "_stops", [&] { by_stops<Formats>(r, name, t); });
  r.step(name + "_rings_alone", [&] { half<Formats, of_rings>(r, name + "_rings_alone", t, peak, true); });
  r.step(name + "_chain_alone", [&] { half<Formats, without_weights>(r, name + "_chain_alone", t, peak, false); });
}
template void check_time<Q8_0>(report&, const std::string&, const random_model::tensors&, double);
template void check_time<BF16>(report&, const std::string&, const random_model::tensors&, double);

}  // namespace device_check

// SPDX-License-Identifier: MIT
// lane_copies.cu: rings of copies of lanes, as sm_80 to 89 have them, also on newer devices: this unit is PTX for
// compute_80 alone, which the driver compiles. Its kernels have names of their own, for others have cubins.
#include <cke/cuda/executor.cuh>
#include <cke/cuda/gpu.cuh>

#include "check.hpp"

namespace device_check {

namespace {

template <class Kernel> struct by_driver {
  template <class Arch> struct on : Kernel::template on<Arch> {};
};
struct older : cuda::gpu {
  struct pace : cuda::at_once {};
  template <class Kernel> void launch(cuda::launch_shape g, const cuda::step& s) {
    cuda::gpu::launch<by_driver<Kernel>>(g, s);
  }
};

template <class Formats> bool holds() {
  using machine = loaded<program<random_model::wide, Formats>, default_kv<Formats>, cuda::isa<older>>;
  static const auto t = random_model::tensors::of<program<random_model::wide, Formats>>();
  const auto model = std::make_shared<machine>(t.index(), "random", naming::hf, names_of<random_model::wide>(),
                                               model_options{.context = 192, .chunk = 8, .logit_rows = 4});
  auto steps = new_sequence(model), ahead = new_sequence(model);
  const std::vector<u32> prompt = random_model::ids(7, machine::program::vocab);
  steps.feed(prompt), ahead.feed(prompt);
  std::vector<u32> ids;
  while (ids.size() < 40) {
    ids.push_back(best(steps.logits()));
    steps.feed(ids.back());
  }
  return ahead.generate_nosync(40, {}, yes) == ids && std::ranges::equal(ahead.logits(), steps.logits());
}

}  // namespace

void check_lane_copies(report& r) {
  int major{};
  cuda::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "an attribute of the device");
  if (major < 8) return r.absent("rings_of_lane_copies", "the device has no asynchronous copies");
  r.step("rings_of_lane_copies", [&] {
    r.check("rings_of_lane_copies_q8_0", holds<Q8_0>());
    r.check("rings_of_lane_copies_bf16", holds<BF16>());
  });
}

}  // namespace device_check

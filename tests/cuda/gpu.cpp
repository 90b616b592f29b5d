// SPDX-License-Identifier: MIT
// gpu.cpp: what is asked of a driver, and what is done when it refuses. The driver is a fake one: fake/.
#include <cuda_runtime_api.h>
#include <cke/cuda/dev.cuh>

namespace cke::dev {
using arch = cuda::sm90;  // on a GPU, the one that nvcc compiles for
}
#include <cke/cuda/gpu.cuh>

#include <doctest/doctest.h>

using namespace cke;
using cuda::grouping, cuda::residents;

namespace {

// A kernel of which nothing is run.
struct kernel {
  struct call {};
  template <class> struct on {
    static void run(const call&) {}
  };
};
// The blocks of a launch for many tokens that shares so many kv heads.
residents room(u32 heads, fake_cuda::driver with = {}) {
  fake_cuda::now = std::move(with);
  return cuda::gpu().room_for<kernel>(200'000, heads);
}
fake_cuda::driver with(std::map<unsigned, int> clusters, int processors = 132) {
  fake_cuda::driver d;
  d.clusters = std::move(clusters), d.has[cudaDevAttrMultiProcessorCount] = processors;
  return d;
}
bool is(const residents& r, u32 blocks, u32 cluster, u32 group) {
  INFO(r.blocks << " blocks, clusters of " << r.cluster << ", groups of " << r.group);
  CHECK(r.blocks == blocks);
  CHECK(r.cluster == cluster);
  CHECK(r.of_group() == group);
  return true;
}

}  // namespace

TEST_CASE("gpu: heads are shared by clusters where they fit, and else by groups that wait at counters of their own") {
  is(room(8, with({{16, 8}, {8, 16}})), 128, 16, 16);
  is(room(8, with({{16, 9}, {8, 16}})), 128, 16, 16);
  is(room(8, with({{16, 7}, {8, 15}})), 128, 1, 16);       // an H100 whose GPCs are not alike
  is(room(8, with({{16, 0}, {8, 14}}, 114)), 112, 1, 14);  // an H100 PCIe
  is(room(8, with({{8, 19}}, 170)), 168, 1, 21);           // an RTX 5090
  fake_cuda::driver ampere = with({}, 108);
  ampere.has[cudaDevAttrClusterLaunch] = 0;
  is(room(8, ampere), 104, 1, 13);
  is(room(8, with({}, 14)), 14, 1, 7);  // a GTX 1650: groups of one block would leave six idle
  fake_cuda::driver older = with({{16, 8}});
  older.ptx = 80;  // a kernel without the clusters' wait, compiled by the driver for a newer device
  is(room(8, older), 128, 1, 16);
  is(room(0, with({{16, 8}})), 132, 1, 132);
  is(room(7, with({}, 8)), 8, 1, 8);  // no number of groups divides both
  for (const grouping most : {grouping::counters, grouping::none}) {
    cuda::gpu::most_grouping = most;
    is(room(8, with({{16, 8}})), most == grouping::none ? 132 : 128, 1, most == grouping::none ? 132 : 16);
  }
  cuda::gpu::most_grouping = grouping::clusters;
}

TEST_CASE("gpu: a driver that refuses clusters of more than 8 blocks refuses nothing else") {
  fake_cuda::driver d = with({{16, 8}, {8, 16}}, 128);
  d.refuses_large_clusters = true;
  is(room(16, d), 128, 8, 8);
  CHECK(fake_cuda::now.last == cudaSuccess);  // the next launch does not find an old error
  d.clusters = {};
  is(room(0, d), 128, 1, 128);
  CHECK(fake_cuda::now.last == cudaSuccess);
  // A cooperative launch of clusters that is not accepted.
  d = with({{16, 8}}), d.most_launched_clusters = 7;
  is(room(8, d), 128, 1, 16);
  CHECK(fake_cuda::now.last == cudaSuccess);
}

TEST_CASE("gpu: memory is cleared on the device's stream, in order with its launches") {
  fake_cuda::now = {};
  cuda::gpu device;
  std::byte* const p = device.allocate(8);
  device.clear(p, 8);
  CHECK(fake_cuda::now.cleared == std::vector<cudaStream_t>{device.stream()});
  CHECK(device.stream() != nullptr);
  device.free(p);
}

TEST_CASE("gpu: launches are short where a display waits for them, and as long as they want elsewhere") {
  fake_cuda::now = {};
  CHECK(cuda::gpu().launch_limit() == 0);
  fake_cuda::now.has[cudaDevAttrKernelExecTimeout] = 1;
  CHECK(cuda::gpu().launch_limit() > 0);
  CHECK(cuda::gpu().launch_limit() <= 0.5);

  cuda::launch_budget any(0), quarter(0.25);
  CHECK(any.tokens(10'000) == 10'000);
  CHECK(quarter.tokens(3) == 3);
  CHECK(quarter.tokens(100) == 4);
  quarter.took(4, 0.02);  // 5 ms a token: 50 would fit, and twice as many as before are tried
  CHECK(quarter.tokens(100) == 8);
  for (u32 i = 0; i < 10; ++i) quarter.took(quarter.tokens(100), 0.005 * quarter.tokens(100));
  CHECK((quarter.tokens(100) >= 49 && quarter.tokens(100) <= 50));
  quarter.took(50, 5);  // a tenth of a second a token
  CHECK(quarter.tokens(100) == 2);
  quarter.took(2, 10);
  CHECK(quarter.tokens(100) == 1);
}

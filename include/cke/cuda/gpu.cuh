// SPDX-License-Identifier: MIT
// gpu.cuh: the first GPU of the process: its memory, launches, and CUDA graphs.
#pragma once

#include <cuda_runtime_api.h>

#include <cstring>
#include <memory>

#include "../core/concat.hpp"
#include "../core/error.hpp"
#include "kernel.cuh"

namespace cke::cuda {

inline void check(cudaError_t e, std::string_view about) {
  if (e == cudaSuccess) return;
  throw Error(e == cudaErrorMemoryAllocation ? errc::out_of_memory : errc::unsupported, {}, concat({"CUDA: ", about}),
              "success", cudaGetErrorString(e));
}

// Each kernel is compiled for every generation that nvcc targets; the driver picks one. The bound of two blocks per
// multiprocessor is explicit because ptxas otherwise aims at more and spills registers.
template <class Kernel> __global__ void __launch_bounds__(block_threads, 2) enter(const __grid_constant__ step s) {
  Kernel::template on<dev::arch>::run(s, dev::block());
}

// The same for a cooperative launch, whose blocks wait for one another: one block per multiprocessor.
template <class Kernel, class Call> __global__ void __launch_bounds__(block_threads, 1)
    enter_together(const __grid_constant__ Call call) {
  Kernel::template on<dev::arch>::run(call);
}

// An empty kernel, to test whether a launch of so many blocks and clusters is accepted.
struct no_work {
  struct call {};
  template <class> struct on {
    CKE_DEVICE static void run(const call&) {}
  };
};

class gpu {
 public:
  static constexpr std::string_view name = "cuda";

  struct destroy {
    void operator()(cudaStream_t s) const { cudaStreamDestroy(s); }
    void operator()(cudaGraphExec_t g) const { cudaGraphExecDestroy(g); }
  };
  using graph = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, destroy>;

  // Throws unsupported if there is no GPU.
  gpu() {
    cudaStream_t s{};
    check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "a stream");
    stream_.reset(s);
  }

  std::byte* allocate(u64 bytes) {
    void* p{};
    check(cudaMalloc(&p, bytes), concat({bytes, " bytes"}));
    return static_cast<std::byte*>(p);
  }
  void free(std::byte* p) noexcept { cudaFree(p); }
  // The caller may change `from` as soon as write returns.
  void write(std::byte* to, const void* from, u64 bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_.get()), "a copy to the device");
  }
  void read(void* to, const std::byte* from, u64 bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_.get()), "a copy from the device");
    check(cudaStreamSynchronize(stream_.get()), "a pass");
  }
  void copy(std::byte* to, const std::byte* from, u64 bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_.get()), "a copy on the device");
  }

  // Zeros, in order with copies and launches.
  void clear(std::byte* p, u64 bytes) { check(cudaMemsetAsync(p, 0, bytes, stream_.get()), "zeros"); }
  cudaStream_t stream() const { return stream_.get(); }

  template <class Kernel> void launch(launch_shape g, const step& s) {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(g.x, g.y, g.z), config.blockDim = dim3(block_threads);
    config.dynamicSmemBytes = bytes_of_launch<Kernel>(s), config.stream = stream_.get();
    check(cudaLaunchKernelEx(&config, enter<Kernel>, s), "a launch");
  }
  u32* host_words(u32 count) {
    void* p{};
    check(cudaHostAlloc(&p, u64{count} * sizeof(u32), cudaHostAllocMapped),
          "memory that the host shares with a launch");
    std::memset(p, 0, u64{count} * sizeof(u32));
    return static_cast<u32*>(p);
  }
  void free_host_words(u32* p) noexcept { cudaFreeHost(p); }

  // Bytes of shared memory that a block may use.
  u32 block_memory() const { return attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin); }
  // Seconds that a launch may take; 0: any time. A driver ends those that keep a display waiting: Windows after 2 s.
  double launch_limit() const { return attribute(cudaDevAttrKernelExecTimeout) != 0 ? 0.25 : 0; }
  // One block per multiprocessor, all resident at once, in the groups of choose_grid. Throws unsupported if blocks
  // cannot be co-resident.
  template <class Kernel> residents room_for(u32 shared_bytes, u32 heads) const {
    const auto entry = enter_together<Kernel, typename Kernel::call>;
    int each{};
    if (attribute(cudaDevAttrCooperativeLaunch) != 0 && allow(entry, shared_bytes))
      check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, entry, int{block_threads}, shared_bytes),
            "the room for a launch");
    if (each == 0)
      throw Error(
          errc::unsupported, {}, "CUDA: a launch for many tokens",
          concat({"a device that holds a block of ", shared_bytes, " bytes on each multiprocessor, all at once"}),
          "none");
    return choose_grid(
        attribute(cudaDevAttrMultiProcessorCount), heads, most_grouping,
        [&](u32 size) { return most_clusters<Kernel>(size, shared_bytes); },
        [&](residents live) { return goes_together(live, shared_bytes); });
  }
  // The number of clusters of `size` blocks that fit at once; 0 if the device has no clusters, or the kernel was
  // compiled for one that has none.
  template <class Kernel> u32 most_clusters(u32 size, u32 shared_bytes) const {
    const auto entry = enter_together<Kernel, typename Kernel::call>;
    const together_config of({size, size}, shared_bytes, nullptr);
    int clusters{};
    cudaFuncAttributes is{};
    if (attribute(cudaDevAttrClusterLaunch) == 0 || cudaFuncGetAttributes(&is, entry) != cudaSuccess ||
        is.ptxVersion < 90 || !allow(entry, shared_bytes, size) ||
        cudaOccupancyMaxActiveClusters(&clusters, entry, &of.config) != cudaSuccess)
      clusters = 0;
    cudaGetLastError();
    return static_cast<u32>(clusters);
  }
  static inline grouping most_grouping = grouping::clusters;  // that launches may ask for

  // The host calls meanwhile() until the launch has ended. It must not throw: the launch would go on without its host.
  template <class Kernel, class Call, class F> void launch_together(residents live, u32 shared_bytes, const Call& call,
                                                                    F meanwhile) {
    const together_config of(live, shared_bytes, stream_.get());
    check(cudaLaunchKernelEx(&of.config, enter_together<Kernel, Call>, call), "a launch for many tokens");
    cudaError_t now{};
    while ((now = cudaStreamQuery(stream_.get())) == cudaErrorNotReady) meanwhile();
    check(now, "a launch for many tokens");
  }

  template <class F> graph record(F&& f) {
    check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "the capture of a graph");
    cudaGraph_t recorded{};
    try {
      f();
    } catch (...) {
      cudaStreamEndCapture(stream_.get(), &recorded);
      cudaGraphDestroy(recorded);
      throw;
    }
    check(cudaStreamEndCapture(stream_.get(), &recorded), "the capture of a graph");
    cudaGraphExec_t g{};
    const cudaError_t made = cudaGraphInstantiate(&g, recorded, 0);
    cudaGraphDestroy(recorded);
    check(made, "a graph");
    return graph(g);
  }
  void replay(const graph& g) { check(cudaGraphLaunch(g.get(), stream_.get()), "a graph"); }

 private:
  struct together_config {
    cudaLaunchAttribute attributes[2]{};
    cudaLaunchConfig_t config{};
    together_config(residents live, u32 shared_bytes, cudaStream_t stream) {
      attributes[0].id = cudaLaunchAttributeCooperative, attributes[0].val.cooperative = 1;
      attributes[1].id = cudaLaunchAttributeClusterDimension, attributes[1].val.clusterDim = {live.cluster, 1, 1};
      config.gridDim = dim3(live.blocks), config.blockDim = dim3(block_threads), config.dynamicSmemBytes = shared_bytes;
      config.stream = stream, config.attrs = attributes, config.numAttrs = live.cluster > 1 ? 2 : 1;
    }
    together_config(const together_config&) = delete;
  };
  // Requests this much shared memory and, for clusters of more than the portable 8 blocks, permission. False if the
  // driver refuses.
  template <class Entry> static bool allow(Entry entry, u32 shared_bytes, u32 cluster = 1) {
    const bool allowed = cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                              static_cast<int>(shared_bytes)) == cudaSuccess &&
        (cluster <= 8 || cudaFuncSetAttribute(entry, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) == cudaSuccess);
    cudaGetLastError();
    return allowed;
  }
  // Whether a cooperative launch may use clusters is not documented, so this tries one.
  bool goes_together(residents live, u32 shared_bytes) const {
    const auto entry = enter_together<no_work, no_work::call>;
    const together_config of(live, shared_bytes, stream_.get());
    const bool goes = allow(entry, shared_bytes, live.cluster) &&
        cudaLaunchKernelEx(&of.config, entry, no_work::call{}) == cudaSuccess;
    cudaGetLastError();
    return goes;
  }

  static u32 attribute(cudaDeviceAttr which) {
    int device{}, value{};
    check(cudaGetDevice(&device), "the device");
    check(cudaDeviceGetAttribute(&value, which, device), "an attribute of the device");
    return static_cast<u32>(value);
  }

  std::unique_ptr<std::remove_pointer_t<cudaStream_t>, destroy> stream_;
};

}  // namespace cke::cuda

// SPDX-License-Identifier: MIT
// gpu.cuh: the first GPU of the process: its memory, launches, and graphs of launches.
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
  throw Error(e == cudaErrorMemoryAllocation ? errc::out_of_memory : errc::unsupported, {}, concat({"CUDA: ", about}), "success",
              cudaGetErrorString(e));
}

// Kernels exist once for each generation that the unit is compiled for; the host picks none. Two blocks to a multiprocessor:
// without a number ptxas aims at more, and spills.
template <class Kernel> __global__ void __launch_bounds__(block_threads, 2) enter(const __grid_constant__ step s) {
  Kernel::template on<dev::arch>::run(s, dev::block());
}

// The same for a launch whose blocks wait for one another: one to a multiprocessor.
template <class Kernel, class Call> __global__ void __launch_bounds__(block_threads, 1) enter_together(const __grid_constant__ Call call) {
  Kernel::template on<dev::arch>::run(call);
}

class gpu {
 public:
  static constexpr std::string_view name = "cuda";

  struct destroy {
    void operator()(cudaStream_t s) const { cudaStreamDestroy(s); }
    void operator()(cudaGraphExec_t g) const { cudaGraphExecDestroy(g); }
  };
  using graph = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, destroy>;

  // Throws unsupported where there is no GPU.
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
  // `from` may change as soon as it returns.
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

  template <class Kernel> void launch(launch_shape g, const step& s) {
    enter<Kernel><<<dim3(g.x, g.y, g.z), block_threads, bytes_of_launch<Kernel>(s), stream_.get()>>>(s);
    check(cudaGetLastError(), "a launch");
  }
  u32* host_words(u32 count) {
    void* p{};
    check(cudaHostAlloc(&p, u64{count} * sizeof(u32), cudaHostAllocMapped), "memory that the host shares with a launch");
    std::memset(p, 0, u64{count} * sizeof(u32));
    return static_cast<u32*>(p);
  }
  void free_host_words(u32* p) noexcept { cudaFreeHost(p); }

  // The most shared memory that a block may have.
  u32 block_memory() const { return attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin); }
  template <class Kernel> u32 blocks_together(u32 shared_bytes) const {
    const auto entry = enter_together<Kernel, typename Kernel::call>;
    int each{};
    if (attribute(cudaDevAttrCooperativeLaunch) != 0 &&
        cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)) == cudaSuccess)
      check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, entry, int{block_threads}, shared_bytes), "the room for a launch");
    if (each == 0)
      throw Error(errc::unsupported, {}, "CUDA: a launch for many tokens",
                  concat({"a device that holds a block of ", shared_bytes, " bytes on each multiprocessor, all at once"}), "none");
    return attribute(cudaDevAttrMultiProcessorCount);
  }
  template <class Kernel, class Call, class F> void launch_together(u32 blocks, u32 shared_bytes, const Call& call, F meanwhile) {
    cudaLaunchAttribute together{.id = cudaLaunchAttributeCooperative, .val = {.cooperative = 1}};
    cudaLaunchConfig_t c{};
    c.gridDim = dim3(blocks), c.blockDim = dim3(block_threads), c.dynamicSmemBytes = shared_bytes;
    c.stream = stream_.get(), c.attrs = &together, c.numAttrs = 1;
    check(cudaLaunchKernelEx(&c, enter_together<Kernel, Call>, call), "a launch for many tokens");
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
  static u32 attribute(cudaDeviceAttr which) {
    int device{}, value{};
    check(cudaGetDevice(&device), "the device");
    check(cudaDeviceGetAttribute(&value, which, device), "an attribute of the device");
    return static_cast<u32>(value);
  }

  std::unique_ptr<std::remove_pointer_t<cudaStream_t>, destroy> stream_;
};

}  // namespace cke::cuda

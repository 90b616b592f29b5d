// SPDX-License-Identifier: MIT
// gpu.cuh: the first GPU of the process: its memory, launches, and graphs of launches.
#pragma once

#include <cuda_runtime_api.h>

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
  Kernel::template on<dev::arch>::run(s);
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
    enter<Kernel><<<dim3(g.x, g.y, g.z), block_threads, g.shared_bytes, stream_.get()>>>(s);
    check(cudaGetLastError(), "a launch");
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
  std::unique_ptr<std::remove_pointer_t<cudaStream_t>, destroy> stream_;
};

}  // namespace cke::cuda

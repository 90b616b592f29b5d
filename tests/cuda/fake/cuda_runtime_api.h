// SPDX-License-Identifier: MIT
// cuda_runtime_api.h: what gpu.cuh calls of the CUDA runtime, answered by a driver that does as a test says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#define __global__
#define __grid_constant__
#define __launch_bounds__(threads, blocks)

enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation, cudaErrorInvalidValue, cudaErrorNotReady };
enum cudaDeviceAttr {
  cudaDevAttrMaxSharedMemoryPerBlockOptin,
  cudaDevAttrCooperativeLaunch,
  cudaDevAttrMultiProcessorCount,
  cudaDevAttrClusterLaunch,
  cudaDevAttrKernelExecTimeout
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize, cudaFuncAttributeNonPortableClusterSizeAllowed };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaLaunchAttributeID { cudaLaunchAttributeCooperative, cudaLaunchAttributeClusterDimension };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal };
constexpr unsigned cudaStreamNonBlocking = 1, cudaHostAllocMapped = 2;

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
struct CUstream_st {};
struct CUgraph_st {};
struct CUgraphExec_st {};
using cudaStream_t = CUstream_st*;
using cudaGraph_t = CUgraph_st*;
using cudaGraphExec_t = CUgraphExec_st*;
struct cudaLaunchAttributeValue {
  int cooperative;
  struct {
    unsigned x, y, z;
  } clusterDim;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
struct cudaFuncAttributes {
  int ptxVersion;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

// The driver: what it has, what it refuses, and what it was asked.
namespace fake_cuda {
struct driver {
  std::map<cudaDeviceAttr, int> has{{cudaDevAttrMaxSharedMemoryPerBlockOptin, 227 * 1024},
                                    {cudaDevAttrCooperativeLaunch, 1},
                                    {cudaDevAttrMultiProcessorCount, 132},
                                    {cudaDevAttrClusterLaunch, 1}};
  std::map<unsigned, int> clusters;     // of so many blocks: how many there is room for
  bool refuses_large_clusters = false;  // more than the portable 8 blocks
  int ptx = 90;                         // what kernels were compiled for
  unsigned most_launched_clusters = ~0u;
  std::set<const void*> large_clusters;  // kernels that may have them
  std::vector<unsigned> launched;        // blocks of each cooperative launch
  std::vector<cudaStream_t> cleared;     // on which stream
  cudaError_t last = cudaSuccess;
  cudaError_t result(cudaError_t e) { return e == cudaSuccess ? e : last = e; }
};
inline driver now;
}  // namespace fake_cuda

inline const char* cudaGetErrorString(cudaError_t e) { return e == cudaSuccess ? "no error" : "refused"; }
inline cudaError_t cudaGetLastError() {
  const cudaError_t e = fake_cuda::now.last;
  fake_cuda::now.last = cudaSuccess;
  return e;
}
inline cudaError_t cudaGetDevice(int* d) { return *d = 0, cudaSuccess; }
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  return *value = fake_cuda::now.has[which], cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) { return *s = new CUstream_st, cudaSuccess; }
inline cudaError_t cudaStreamDestroy(cudaStream_t s) { return delete s, cudaSuccess; }
inline cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) { return cudaSuccess; }
inline cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* g) { return *g = new CUgraph_st, cudaSuccess; }
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* g, cudaGraph_t, unsigned long long) {
  return *g = new CUgraphExec_st, cudaSuccess;
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t g) { return delete g, cudaSuccess; }
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t g) { return delete g, cudaSuccess; }
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaMalloc(void** p, std::size_t bytes) { return *p = ::operator new(bytes), cudaSuccess; }
inline cudaError_t cudaFree(void* p) { return ::operator delete(p), cudaSuccess; }
inline cudaError_t cudaHostAlloc(void** p, std::size_t bytes, unsigned) { return cudaMalloc(p, bytes); }
inline cudaError_t cudaFreeHost(void* p) { return cudaFree(p); }
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t n, cudaMemcpyKind, cudaStream_t) {
  return std::memcpy(to, from, n), cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* p, int value, std::size_t n, cudaStream_t s) {
  fake_cuda::now.cleared.push_back(s);
  return std::memset(p, value, n), cudaSuccess;
}
template <class Kernel> cudaError_t cudaFuncSetAttribute(Kernel* k, cudaFuncAttribute which, int) {
  if (which == cudaFuncAttributeNonPortableClusterSizeAllowed) {
    if (fake_cuda::now.refuses_large_clusters) return fake_cuda::now.result(cudaErrorInvalidValue);
    fake_cuda::now.large_clusters.insert(reinterpret_cast<const void*>(k));
  }
  return cudaSuccess;
}
template <class Kernel> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, Kernel*) {
  return a->ptxVersion = fake_cuda::now.ptx, cudaSuccess;
}
template <class Kernel> cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* n, Kernel*, int, std::size_t) {
  return *n = 1, cudaSuccess;
}
template <class Kernel> cudaError_t cudaOccupancyMaxActiveClusters(int* n, Kernel* k, const cudaLaunchConfig_t* c) {
  const unsigned size = c->attrs[1].val.clusterDim.x;
  if (size > 8 && !fake_cuda::now.large_clusters.contains(reinterpret_cast<const void*>(k)))
    return fake_cuda::now.result(cudaErrorInvalidValue);
  return *n = fake_cuda::now.clusters[size], cudaSuccess;
}
template <class Kernel, class... Args> cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* c, Kernel* k,
                                                                      const Args&...) {
  const unsigned size = c->numAttrs > 1 ? c->attrs[1].val.clusterDim.x : 1;
  if (size > 8 && !fake_cuda::now.large_clusters.contains(reinterpret_cast<const void*>(k)))
    return fake_cuda::now.result(cudaErrorInvalidValue);
  if (c->gridDim.x / size > fake_cuda::now.most_launched_clusters) return fake_cuda::now.result(cudaErrorInvalidValue);
  if (c->numAttrs > 0) fake_cuda::now.launched.push_back(c->gridDim.x);
  return cudaSuccess;
}

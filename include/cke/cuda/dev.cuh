// SPDX-License-Identifier: MIT
// dev.cuh: the complete interface of device code, on a GPU and on the host: kernels use nothing else.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>

#include "arch.cuh"

#ifdef __CUDACC__
#define CKE_DEVICE __device__ __forceinline__
#define CKE_CONSTEXPR __forceinline__ constexpr  // for host and device, with --expt-relaxed-constexpr
#define CKE_UNROLL _Pragma("unroll")
#else
#define CKE_DEVICE inline
#define CKE_CONSTEXPR constexpr
#define CKE_UNROLL
#include "host/host_dev.cuh"
#endif

namespace cke::cuda {

inline constexpr u32 warp_lanes = 32;
inline constexpr u32 block_threads = 256, block_warps = block_threads / warp_lanes;  // the block size of every kernel

}  // namespace cke::cuda

namespace cke::dev {

// 16 bytes: the widest load of a thread.
struct alignas(16) quad {
  u32 word[4];
};
// The index of a block in the grid.
struct place {
  u32 x, y, z;
};

#ifdef __CUDACC__

#ifdef __CUDA_ARCH__
using arch = cuda::arch_of<__CUDA_ARCH__>;
#else
using arch = cuda::sm75;  // the host pass of nvcc names kernels with this tag; it runs none
#endif

CKE_DEVICE place block() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
CKE_DEVICE u32 thread() { return threadIdx.x; }
CKE_DEVICE void sync() { __syncthreads(); }
CKE_DEVICE void sync_warp() { __syncwarp(); }
// Cluster barrier (sm90): waits for all threads of the cluster that have not exited, and makes their writes visible.
CKE_DEVICE void sync_cluster() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

// shuffle returns x of the given lane, shuffle_xor that of lane ^ mask. All lanes of the warp must take part.
template <class T> CKE_DEVICE T shuffle(T x, u32 lane) { return __shfl_sync(0xffffffffu, x, static_cast<int>(lane)); }
template <class T> CKE_DEVICE T shuffle_xor(T x, u32 mask) {
  return __shfl_xor_sync(0xffffffffu, x, static_cast<int>(mask));
}

// Whether x holds in some lane; the greatest number of a warp; the sum of all. All lanes must take part.
CKE_DEVICE bool any_of_warp(bool x) { return __any_sync(0xffffffffu, x) != 0; }
CKE_DEVICE u32 greatest_of_warp(u32 x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_max_sync(0xffffffffu, x);
#else
  for (u32 apart = 16; apart > 0; apart /= 2) {
    const u32 other = shuffle_xor(x, apart);
    x = other > x ? other : x;
  }
  return x;
#endif
}
CKE_DEVICE i32 sum_of_warp(i32 x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_add_sync(0xffffffffu, x);
#else
  for (u32 apart = 16; apart > 0; apart /= 2) x += shuffle_xor(x, apart);
  return x;
#endif
}

template <class T> CKE_DEVICE T load(const T* p) { return *p; }
template <class T> CKE_DEVICE void store(T* p, T x) { *p = x; }

// Words that synchronise the blocks of a launch, or a launch and the host. A thread that acquires a released value sees
// everything that the releasing thread had done, and seen, before.
CKE_DEVICE void add_release(u32* p, u32 x) {
  asm volatile("red.release.gpu.add.u32 [%0], %1;" ::"l"(p), "r"(x) : "memory");
}
CKE_DEVICE void store_release(u32* p, u32 x) {
  asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(p), "r"(x) : "memory");
}
CKE_DEVICE u32 load_acquire(const u32* p) {
  u32 x;
  asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
  return x;
}
// A word with its sequence number, in 8 bytes that are written and read atomically. A reader that finds the expected
// number has the word and need not wait for a barrier. A packet orders no other memory.
struct packet {
  u32 word, epoch;
};
CKE_DEVICE void send(packet* to, packet x) {
  asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(to), "l"(u64{x.epoch} << 32 | x.word) : "memory");
}
struct alignas(16) two_packets {
  packet first, second;
};
// Loads two neighbouring packets at once, each atomically.
CKE_DEVICE two_packets hear(const packet* from) {
  u64 x, y;
  asm volatile("ld.relaxed.gpu.v2.u64 {%0, %1}, [%2];" : "=l"(x), "=l"(y) : "l"(from) : "memory");
  return {{static_cast<u32>(x), static_cast<u32>(x >> 32)}, {static_cast<u32>(y), static_cast<u32>(y >> 32)}};
}
// Reads a word that the host writes while the launch runs.
CKE_DEVICE u32 load_from_host(const u32* p) {
  u32 x;
  asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
  return x;
}
CKE_DEVICE void pause() {}
CKE_DEVICE u64 clock() {  // cycles of this multiprocessor
  u64 t;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(t));
  return t;
}
CKE_DEVICE u64 nanoseconds() {
  u64 t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

// Loads data that is constant during the kernel and read once, as weights are; it bypasses L1.
CKE_DEVICE quad stream(const quad* p) {
  quad q;
  asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(q.word[0]), "=r"(q.word[1]), "=r"(q.word[2]), "=r"(q.word[3])
      : "l"(p));
  return q;
}
CKE_DEVICE u32 stream(const u32* p) {
  u32 x;
  asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(x) : "l"(p));
  return x;
}

// Prefetches the 128-byte line of p to L2.
CKE_DEVICE void prefetch(const std::byte* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

// A range of the block's shared memory.
template <class T> struct shared {
  T* at;
  CKE_DEVICE T& operator[](u32 i) const { return at[i]; }
};
// Allocates from the block's shared memory; every thread of the block makes the same calls and gets the same ranges.
class shared_memory {
 public:
  CKE_DEVICE explicit shared_memory(u32 from = 0) : used_(from) {}
  template <class T> CKE_DEVICE shared<T> take(u32 count) {
    extern __shared__ __align__(128) unsigned char cke_block_memory[];  // bulk copies need 16
    const shared<T> part{reinterpret_cast<T*>(cke_block_memory + used_)};
    used_ += static_cast<u32>(align_up(u64{count} * sizeof(T), 16));
    return part;
  }

 private:
  u32 used_;
};

template <class T> CKE_DEVICE T get(const shared<std::byte>& from, u32 at) {
  return *reinterpret_cast<const T*>(from.at + at);
}
template <class T> CKE_DEVICE void put(const shared<std::byte>& to, u32 at, T x) {
  *reinterpret_cast<T*>(to.at + at) = x;
}
template <class T> CKE_DEVICE shared<T> part_of(const shared<T>& all, u32 first, u32) { return {all.at + first}; }
template <class T> CKE_DEVICE shared<T> as(const shared<std::byte>& all) { return {reinterpret_cast<T*>(all.at)}; }

// Asynchronous copies into shared memory. With cp.async (sm80), each thread waits for its own copies, in groups:
template <class T> CKE_DEVICE u32 address_of(T* p) { return static_cast<u32>(__cvta_generic_to_shared(p)); }
CKE_DEVICE void copy_quad(const shared<std::byte>& to, u32 at, const std::byte* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address_of(to.at + at)), "l"(from) : "memory");
}
CKE_DEVICE void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all but this thread's last N groups; other threads see the data only after a barrier.
template <u32 N> CKE_DEVICE void await_copies() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

// Bulk copies complete on an mbarrier (sm90). One thread announces the bytes and issues the copies; when they have
// arrived, the mbarrier's phase ends, and a thread that has seen this sees the bytes. L2 evicts weights first. (The
// copies use shared::cta: on sm_120, shared::cluster calls a function, and registers are saved around it.)
CKE_DEVICE void begin_arrivals(const shared<u64>& at, u32 i) {
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(address_of(at.at + i)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
CKE_DEVICE void expect(const shared<u64>& at, u32 i, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(address_of(at.at + i)), "r"(bytes) : "memory");
}
CKE_DEVICE void copy_bulk(const shared<std::byte>& to, u32 place, const std::byte* from, u32 bytes,
                          const shared<u64>& at, u32 i) {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile(
      "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(
          address_of(to.at + place)),
      "l"(from), "r"(bytes), "r"(address_of(at.at + i)), "l"(policy)
      : "memory");
}
CKE_DEVICE bool arrived(const shared<u64>& at, u32 i, u32 parity) {
  u32 over;
  asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(over)
               : "r"(address_of(at.at + i)), "r"(parity)
               : "memory");
  return over != 0;
}

// Checks, on the host only, that the copy that has arrived came from there.
CKE_DEVICE void came_from(const shared<std::byte>&, u32, const std::byte*) {}

// acc + the dot product of the four signed bytes of a and b.
CKE_DEVICE i32 dot4(i32 acc, u32 a, u32 b) { return __dp4a(static_cast<int>(a), static_cast<int>(b), acc); }

// Products of a warp are volatile: all lanes must take part, and a compiler may move other asm into the branch of the
// lanes that use its result.
// acc [16][8] += a [16][32] b [32][8], of signed bytes. The PTX manual, mma.m16n8k32, says which lane holds what. sm80.
CKE_DEVICE void mma_bytes(i32 (&acc)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(acc[0]), "+r"(acc[1]), "+r"(acc[2]), "+r"(acc[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// acc [16][8] += a [16][16] b [16][8], of bf16; the order of the additions is not specified. mma.m16n8k16. sm80.
CKE_DEVICE void mma_bf16(float (&acc)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

template <class To, class From> CKE_DEVICE To bits(From x) { return __builtin_bit_cast(To, x); }
CKE_DEVICE float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
CKE_DEVICE float divide(float a, float b) { return __fdiv_rn(a, b); }
CKE_DEVICE float root(float x) { return __fsqrt_rn(x); }
CKE_DEVICE float nearest(float x) { return ::rintf(x); }  // rounds halves to even
CKE_DEVICE float float_of_half(u32 h) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(static_cast<u16>(h)));
  return x;
}
CKE_DEVICE u16 half_of(float x) {
  u16 h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
}

#else

inline place block() {
  const auto [x, y, z] = host_run::block();
  return {x, y, z};
}

#endif

CKE_DEVICE u32 lane() { return thread() % cuda::warp_lanes; }
CKE_DEVICE u32 warp() { return thread() / cuda::warp_lanes; }

}  // namespace cke::dev

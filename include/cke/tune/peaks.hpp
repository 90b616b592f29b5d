// SPDX-License-Identifier: MIT
// peaks.hpp: measures this machine's peaks: memory bandwidth, and the rates of the kernels' dot products.
#pragma once

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "../core/simd.hpp"
#include "../runtime/arena.hpp"
#include "../runtime/team.hpp"

namespace cke::tune {

// Totals over all threads. An operation is a multiplication or an addition.
struct machine_peaks {
  double read_gbs{};   // GB/s read from memory
  double int8_gops{};  // GOP/s of byte dot products with a scale per 32: the bound of Q8_0 and similar formats
  double bf16_gops{};  // GOP/s of dot products of bf16 pairs, or of multiply-adds where those take their place
  double f32_gops{};   // GOP/s of fused multiply-adds
};

namespace detail {

// Loops whose data stay in registers and the first-level cache. They have as many independent accumulators as fit: of
// multiply-adds a core has eight under way (two a cycle, four cycles each). A step covers 32 of k (int8), 2 (bf16) or 1
// (f32). Each loop returns the number of operations that it did.
template <class Isa> struct dot_loops {
  using vf32 = simd::vf32<Isa>;
  using vi32 = simd::vi32<Isa>;
  static constexpr u32 chains = Isa::registers == 32 ? 16 : 4, float_chains = Isa::registers == 32 ? 16 : 8;

  alignas(64) std::byte x[64 * 64]{};  // stands for the tile of tokens that a kernel broadcasts from

  u64 int8(float* sink) const {
    vf32 acc[chains];
    vi32 codes[8];
#pragma GCC unroll 16
    for (u32 t = 0; t < chains; ++t) acc[t] = vf32(0.f);
#pragma GCC unroll 8
    for (u32 j = 0; j < 8; ++j) codes[j] = vi32::load_unaligned(reinterpret_cast<const i32*>(x) + j * Isa::lanes);
    const u32 steps = 1 << 16;
    for (u32 s = 0; s < steps; ++s) {
      read_again();
#pragma GCC unroll 16
      for (u32 t = 0; t < chains; ++t) {
        vi32 sum(0);
#pragma GCC unroll 8
        for (u32 j = 0; j < 8; ++j) {
          const vi32 four = simd::bcast4<Isa>(x + 32 * t + 4 * j);
          if constexpr (simd::has_vnni<Isa>) sum = simd::dot4<Isa>(sum, codes[j], four);
          else sum = simd::dot4_signed<Isa>(sum, codes[j], four);
        }
        acc[t] = xsimd::fma(xsimd::to_float(sum), acc[t] * simd::bcast_f32<Isa>(x + 1024 + 4 * t), acc[t]);
      }
    }
    return done(acc, sink, u64{64} * steps);
  }
  u64 bf16(float* sink) const {
    if constexpr (simd::expands_bf16<Isa>) return f32(sink);
    const vi32 w = vi32::load_unaligned(reinterpret_cast<const i32*>(x));
    return fold([&](vf32 a, u32 t) { return simd::dot2_bf16<Isa>(a, w, simd::bcast4<Isa>(x + 4 * t)); }, sink, 4);
  }
  u64 f32(float* sink) const {
    const vf32 w = vf32::load_unaligned(reinterpret_cast<const float*>(x));
    return fold([&](vf32 a, u32 t) { return xsimd::fma(w, simd::bcast_f32<Isa>(x + 4 * t), a); }, sink, 2);
  }

 private:
  template <class F> static u64 fold(F f, float* sink, u64 ops) {
    vf32 acc[float_chains];
#pragma GCC unroll 16
    for (u32 t = 0; t < float_chains; ++t) acc[t] = vf32(0.f);
    const u32 steps = 1 << 19;
    for (u32 s = 0; s < steps; ++s) {
      read_again();
#pragma GCC unroll 16
      for (u32 t = 0; t < float_chains; ++t) acc[t] = f(acc[t], t);
    }
    return done(acc, sink, ops * steps);
  }
  // Makes the compiler reload x in each step, and hides from it what a step computes.
  static void read_again() { asm volatile("" : : : "memory"); }
  template <u32 Chains> static u64 done(const vf32 (&acc)[Chains], float* sink, u64 ops_of_a_lane) {
#pragma GCC unroll 16
    for (u32 t = 0; t < Chains; ++t) acc[t].store_unaligned(sink + t * Isa::lanes);
    return ops_of_a_lane * Chains * Isa::lanes;
  }
};

}  // namespace detail

// Reads a buffer that should exceed every cache. Throws what arena and team throw.
template <class Isa = isa::native> class machine_probe {
 public:
  static constexpr u64 default_bytes = u64{256} << 20, piece = u64{1} << 20;

  explicit machine_probe(u32 threads, u64 bytes = default_bytes)
      : team_(threads, hints{.spins = 1}), pieces_(static_cast<u32>(bytes / piece)), memory_(u64{pieces_} * piece) {
    std::byte* const base = memory_.take(memory_.size());
    team_.run([&](u32 thread) noexcept {
      team_.share(thread, pieces_, [&](u32 p) { std::memset(base + p * piece, static_cast<int>(p), piece); });
    });
  }

  // The best of a few short runs of each kind; takes 50 to 100 ms.
  machine_peaks measure() {
    machine_peaks best;
    for (u32 run = 0; run < 4; ++run) {
      best.read_gbs = std::max(best.read_gbs, rate([&](u32 thread, float* sink) { return read(thread, sink); }));
      if constexpr (!simd::is_scalar<Isa>) {
        best.int8_gops = std::max(best.int8_gops, rate([&](u32, float* sink) { return loops_.int8(sink); }));
        best.bf16_gops = std::max(best.bf16_gops, rate([&](u32, float* sink) { return loops_.bf16(sink); }));
        best.f32_gops = std::max(best.f32_gops, rate([&](u32, float* sink) { return loops_.f32(sink); }));
      }
    }
    return best;
  }

  // GB/s that reading gives in the next millisecond or two, for work that takes turns with it. Goes on where the last
  // call ended, so that no cache has what is read.
  double read_turn() {
    std::this_thread::sleep_for(std::chrono::microseconds(200));  // until idle threads of the work have gone to sleep
    const u32 each = std::max(turn_pieces / team_.size(), 1u), begin = next_;
    next_ = (next_ + each * team_.size()) % pieces_;
    std::atomic<double> gbs{0};
    team_.run([&](u32 thread) noexcept {
      alignas(64) float sink[256];
      gbs.fetch_add(rate_of([&] {
        for (u32 p = begin + thread * each, end = p + each; p < end; ++p)
          read_piece(memory_.data() + u64{p % pieces_} * piece, sink);
        asm volatile("" : : "r"(sink) : "memory");
        return u64{each} * piece;
      }));
    });
    return gbs;
  }

 private:
  struct nothing {};
  static constexpr u32 turn_pieces = 32;

  // 1e9 units of work per second; work() returns the units it did.
  template <class Work> static double rate_of(Work work) {
    const auto start = std::chrono::steady_clock::now();
    const auto units = static_cast<double>(work());
    const std::chrono::duration<double, std::nano> ns = std::chrono::steady_clock::now() - start;
    return units / ns.count();
  }
  // The same over all threads; work(thread, sink) returns the units that a thread did.
  template <class Work> double rate(Work work) {
    return rate_of([&] {
      std::atomic<u64> units{0};
      team_.run([&](u32 thread) noexcept {
        alignas(64) float sink[256];
        units.fetch_add(work(thread, sink), std::memory_order_relaxed);
        asm volatile("" : : "r"(sink) : "memory");  // keeps the results alive
      });
      return units.load();
    });
  }

  u64 read(u32 thread, float* sink) {
    u64 bytes = 0;
    team_.share(thread, pieces_, [&](u32 p) {
      read_piece(memory_.data() + p * piece, sink);
      bytes += piece;
    });
    return bytes;
  }
  // Sums whole registers, so that only the loads limit the speed.
  static void read_piece(const std::byte* from, float* sink) {
    if constexpr (simd::is_scalar<Isa>) {
      const auto* words = reinterpret_cast<const u64*>(from);
      u64 sum[4]{};
      for (u64 i = 0; i < piece / 8; i += 4)
        for (u64 k = 0; k < 4; ++k) sum[k] += words[i + k];
      std::memcpy(sink, sum, sizeof sum);
    } else {
      using vi32 = simd::vi32<Isa>;
      const auto* words = reinterpret_cast<const i32*>(from);
      vi32 sum[8];
#pragma GCC unroll 8
      for (u32 k = 0; k < 8; ++k) sum[k] = vi32(0);
      for (u64 i = 0; i < piece / 4; i += 8 * Isa::lanes)
#pragma GCC unroll 8
        for (u32 k = 0; k < 8; ++k) sum[k] += vi32::load_unaligned(words + i + k * Isa::lanes);
#pragma GCC unroll 8
      for (u32 k = 0; k < 8; ++k) sum[k].store_unaligned(reinterpret_cast<i32*>(sink) + k * Isa::lanes);
    }
  }

  team team_;
  u32 pieces_;
  arena memory_;
  u32 next_{};  // the piece that the next turn begins with
  std::conditional_t<simd::is_scalar<Isa>, nothing, detail::dot_loops<Isa>> loops_;
};

}  // namespace cke::tune

// SPDX-License-Identifier: MIT
// host_dev.cuh: the host's half of dev.cuh: what device code calls, on the emulated machine.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "host_copies.cuh"

namespace cke::dev {

using host_run::begin_arrivals, host_run::expect, host_run::copy_bulk, host_run::arrived;
using host_run::copy_quad, host_run::commit_copies, host_run::await_copies, host_run::came_from;
using host_run::packet, host_run::two_packets, host_run::send, host_run::hear;
using host_run::thread, host_run::sync, host_run::sync_warp, host_run::sync_cluster, host_run::shared,
    host_run::shared_memory, host_run::get, host_run::put, host_run::part_of, host_run::as;

template <class T> T shuffle(T x, u32 lane) { return host_run::of_lane(x, lane); }
template <class T> T shuffle_xor(T x, u32 mask) { return host_run::of_lane(x, host_run::thread() % 32 ^ mask); }
inline bool any_of_warp(bool x) {
  const auto all = host_run::of_all_lanes(u32{x});
  return std::ranges::any_of(all, [](u32 of) { return of != 0; });
}
inline u32 greatest_of_warp(u32 x) { return std::ranges::max(host_run::of_all_lanes(x)); }
inline i32 sum_of_warp(i32 x) {
  i32 sum = 0;
  for (const i32 of : host_run::of_all_lanes(x)) sum += of;
  return sum;
}

using host_run::prefetch, host_run::add_release, host_run::store_release, host_run::load_acquire, host_run::pause,
    host_run::nanoseconds, host_run::clock;
inline u32 load_from_host(const u32* p) { return load_acquire(p); }
template <class T> T load(const T* p) { return host_run::load(p); }
template <class T> void store(T* p, T x) { host_run::store(p, x); }
template <class T> T stream(const T* p) { return host_run::load(p); }

inline i32 dot4(i32 acc, u32 a, u32 b) {
  for (u32 i = 0; i < 32; i += 8) acc += i32{static_cast<i8>(a >> i)} * i32{static_cast<i8>(b >> i)};
  return acc;
}
// Gathers the fragments of an mma from the lanes of a warp: a has 16 rows and b 8 columns, of 32 bytes each. acc[i]
// belongs to row `row` + 8 * (i / 2) and column `column` + i % 2. word(a or b, k) is bytes [4 k, 4 k + 4).
struct fragments {
  struct part {
    u32 a[4], b[2];
  };
  std::array<part, 32> all;
  u32 row = host_run::thread() % 32 / 4, column = host_run::thread() % 4 * 2;

  fragments(const u32 (&a)[4], const u32 (&b)[2])
      : all(host_run::of_all_lanes(part{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}})) {}
  u32 of_a(u32 i, u32 k) const { return all[row * 4 + k % 4].a[i / 2 + k / 4 * 2]; }
  u32 of_b(u32 i, u32 k) const { return all[(column + i % 2) * 4 + k % 4].b[k / 4]; }
};
inline void mma_bytes(i32 (&acc)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  const fragments f(a, b);
  for (u32 i = 0; i < 4; ++i)
    for (u32 k = 0; k < 8; ++k) acc[i] = dot4(acc[i], f.of_a(i, k), f.of_b(i, k));
}
template <class To, class From> To bits(From x) { return std::bit_cast<To>(x); }
inline float fma(float a, float b, float c) { return std::fma(a, b, c); }
// Adds in the host's order, which may differ from a GPU's: k by k, exact products, each sum rounded to nearest.
inline void mma_bf16(float (&acc)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  const fragments f(a, b);
  for (u32 i = 0; i < 4; ++i)
    for (u32 k = 0; k < 8; ++k) {
      const u32 x = f.of_a(i, k), y = f.of_b(i, k);
      acc[i] = fma(bits<float>(x << 16), bits<float>(y << 16), acc[i]);
      acc[i] = fma(bits<float>(x & 0xffff0000u), bits<float>(y & 0xffff0000u), acc[i]);
    }
}
inline float divide(float a, float b) { return a / b; }
inline float root(float x) { return std::sqrt(x); }
inline float nearest(float x) { return std::nearbyint(x); }
inline float float_of_half(u32 h) {
  const u32 sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 31u, mantissa = h & 1023u;
  if (exponent == 31) return bits<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent) return bits<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float tiny = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -tiny : tiny;
}
inline u16 half_of(float x) {
  const u32 b = bits<u32>(x), sign = (b >> 16) & 0x8000u, size = b & 0x7fffffffu;
  if (size > 0x7f800000u) return static_cast<u16>(sign | 0x7e00u | ((size >> 13) & 0x3ffu));
  if (size >= 0x477ff000u) return static_cast<u16>(sign | 0x7c00u);
  if (size < 0x38800000u) {
    const u32 shift = 126 - (size >> 23), mantissa = (size & 0x7fffffu) | 0x800000u;
    if (shift > 24) return static_cast<u16>(sign);
    const u32 half = 1u << (shift - 1), kept = mantissa >> shift, rest = mantissa & ((1u << shift) - 1);
    return static_cast<u16>(sign | (kept + (rest > half || (rest == half && (kept & 1)))));
  }
  const u32 rounded = size + 0xfff + ((size >> 13) & 1);
  return static_cast<u16>(sign | (rounded - 0x38000000u) >> 13);
}

}  // namespace cke::dev

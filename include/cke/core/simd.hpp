// SPDX-License-Identifier: MIT
// simd.hpp: operations that xsimd lacks: byte and bf16 dot products, half loads and stores, exp, ordered sums.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include "isa.hpp"

#if defined(CKE_COMPILED_KERNELS_ONLY)  // kernels are read, not compiled
#elif defined(CKE_HAS_AVX512)
#include "simd_avx512.hpp"
#elif defined(CKE_HAS_AVX2)
#include "simd_avx2.hpp"
#elif defined(CKE_HAS_NEON)
#include "simd_neon.hpp"
#elif defined(CKE_HAS_WASM)
#include "simd_wasm.hpp"
#endif

namespace cke::simd {

template <class Isa> using vf32 = isa::batch<Isa, float>;
template <class Isa> using vi32 = isa::batch<Isa, i32>;

template <class Isa> inline constexpr bool is_scalar = std::is_same_v<Isa, isa::scalar>;
// If true, dot4 accepts every u8; otherwise only up to 127, because it sums pairs in 16 bits or reads them as signed.
template <class Isa>
inline constexpr bool has_vnni = std::is_base_of_v<isa::avx512_vnni, Isa> || std::is_base_of_v<isa::avx2_vnni, Isa>;

// If true, bytes multiply to pairs that are summed in 16 bits, which a dot then widens.
template <class Isa>
inline constexpr bool multiplies_to_i16 =
    (std::is_base_of_v<isa::avx2, Isa> || std::is_base_of_v<isa::avx512, Isa>) && !has_vnni<Isa>;

// If true, dot2_bf16 is one instruction, which also drops subnormals; else it is two fused multiply-adds.
template <class Isa>
inline constexpr bool has_bf16_dots =
    std::is_base_of_v<isa::avx512_vnni, Isa> && !std::is_base_of_v<isa::avx512_fp16, Isa>;
// If true, dot2_bf16 adds the product of the odd numbers first, else that of the even ones.
template <class Isa> inline constexpr bool takes_odd_first = std::is_base_of_v<isa::avx512_vnni, Isa>;
// If true, activations for bf16 weights are kept as floats: taking pairs apart would need the two units that multiply.
template <class Isa>
inline constexpr bool expands_bf16 = std::is_base_of_v<isa::avx512, Isa> && !has_bf16_dots<Isa>;

// The CPUs whose set is avx512_vnni: only Zen 5 has AVX-VNNI, dots of 256 bits, as well.
#ifdef CKE_HAS_AVX2_VNNI
template <class Isa> inline constexpr bool is_zen_5 = std::is_same_v<Isa, isa::avx512_vnni>;
#else
template <class Isa> inline constexpr bool is_zen_5 = false;
#endif
template <class Isa> inline constexpr bool is_zen_4 = std::is_same_v<Isa, isa::avx512_vnni> && !is_zen_5<Isa>;

// If true, memory gives all it has only when a kernel asks for it far ahead (Zen 3 and 5, Intel). Zen 4 reads a stream
// as fast without, and loses up to a quarter by it where little is computed.
template <class Isa> inline constexpr bool needs_prefetch = std::is_base_of_v<isa::avx2, Isa> && !is_zen_4<Isa>;
// The cache that weights are fetched into, as __builtin_prefetch takes it: 3, the first, where it holds them beside a
// tile of tokens, else 2, the second.
template <class Isa> inline constexpr int prefetch_level = is_zen_5<Isa> ? 3 : 2;

// Reinterprets the bits as numbers of another type. (xsimd's own instantiates a table of functions for NEON.)
template <class To, class From> CKE_INLINE To as(From v) { return std::bit_cast<typename To::register_type>(v.data); }

// ---- the primitives of an isa, on batches ------------------------------------------------------

// Broadcasts the four bytes at p to every lane; compilers fold it into the memory operand of the next instruction.
template <class Isa> CKE_INLINE vi32<Isa> bcast4(const void* p) {
  i32 v;
  std::memcpy(&v, p, 4);
  return vi32<Isa>(v);
}
template <class Isa> CKE_INLINE vf32<Isa> bcast_f32(const void* p) {
  float v;
  std::memcpy(&v, p, 4);
  return vf32<Isa>(v);
}

// acc[i] + the dot product of the four bytes in lane i of u (unsigned; at most 127 unless has_vnni) and of s (signed).
template <class Isa> CKE_INLINE vi32<Isa> dot4(vi32<Isa> acc, vi32<Isa> u, vi32<Isa> s) {
  return primitives<Isa>::dot4(acc, u, s);
}
// acc + dot4(codes[i], the four bytes at x + 4 i, broadcast) for i < N; codes are at most Max, bytes of x never -128.
// Without VNNI up to four sums are added in 16 bits, as many as fit; more would only make a longer chain.
template <class Isa, u32 Max, u32 N>
CKE_INLINE vi32<Isa> dots(vi32<Isa> acc, const vi32<Isa>* codes, const std::byte* x) {
  using p = primitives<Isa>;
  const auto four = [&](u32 i) { return bcast4<Isa>(x + 4 * i); };
  if constexpr (multiplies_to_i16<Isa>) {
    constexpr u32 together = std::min(4u, 32767 / (2 * 127 * Max));
    static_assert(N % together == 0);
#pragma GCC unroll 8
    for (u32 i = 0; i < N; i += together) {
      vi32<Isa> pairs = p::dot_pairs(codes[i], four(i));
#pragma GCC unroll 8
      for (u32 j = i + 1; j < i + together; ++j) pairs = p::add_i16(pairs, p::dot_pairs(codes[j], four(j)));
      acc = p::add_pairs(acc, pairs);
    }
    return acc;
  } else {
    // Two chains of four, because one of eight would keep the next step waiting.
    vi32<Isa> more(0);
#pragma GCC unroll 8
    for (u32 i = 0; i < N; ++i) {
      if (i < 4) acc = dot4<Isa>(acc, codes[i], four(i));
      else more = dot4<Isa>(more, codes[i], four(i));
    }
    return N > 4 ? acc + more : acc;
  }
}
// The same with both sides signed; x is never -128.
template <class Isa> CKE_INLINE vi32<Isa> dot4_signed(vi32<Isa> acc, vi32<Isa> w, vi32<Isa> x) {
  return primitives<Isa>::dot4_signed(acc, w, x);
}
// acc[i] + the two products of the bf16 pairs in lane i, added in an order fixed by the isa.
template <class Isa> CKE_INLINE vf32<Isa> dot2_bf16(vf32<Isa> acc, vi32<Isa> w, vi32<Isa> x) {
  return primitives<Isa>::dot2_bf16(acc, w, x);
}
// 1 0 3 2 5 4 ... Where dot2_bf16 is two multiply-adds and takes the odd number first.
template <class Isa> CKE_INLINE vf32<Isa> swap_pairs(vf32<Isa> v) { return primitives<Isa>::swap_pairs(v); }
// A factor of dot2_bf16: lane i has both numbers rounded to bf16, of which the dot adds the product of `first` before
// that of `second`, each as a multiply-add. Where has_bf16_dots.
template <class Isa> CKE_INLINE vi32<Isa> bf16_chain(vf32<Isa> first, vf32<Isa> second) {
  return primitives<Isa>::bf16_chain(first, second);
}
// acc[i] + the two products of the i16 pairs in lane i.
template <class Isa> CKE_INLINE vi32<Isa> dot2_i16(vi32<Isa> acc, vi32<Isa> w, vi32<Isa> x) {
  return primitives<Isa>::dot2_i16(acc, w, x);
}

// Loads and stores one register of 16-bit floats, unaligned; stores round to nearest even. (AVX512-BF16 stores
// subnormals as zero, which is what its dot product reads them as.)
template <class Isa> CKE_INLINE vf32<Isa> load_f16(const void* p) { return primitives<Isa>::load_f16(p); }
template <class Isa> CKE_INLINE void store_f16(void* p, vf32<Isa> v) { primitives<Isa>::store_f16(p, v); }
template <class Isa> CKE_INLINE vf32<Isa> load_bf16(const void* p) { return primitives<Isa>::load_bf16(p); }
template <class Isa> CKE_INLINE void store_bf16(void* p, vf32<Isa> v) { primitives<Isa>::store_bf16(p, v); }
// x as store_bf16 and load_bf16 leave it.
template <class Isa> CKE_INLINE vf32<Isa> round_bf16(vf32<Isa> x) {
  if constexpr (std::is_base_of_v<isa::avx512_vnni, Isa>) return primitives<Isa>::round_bf16(x);
  const vi32<Isa> bits = as<vi32<Isa>>(x), near = bits + vi32<Isa>(0x7fff) + ((bits >> 16) & vi32<Isa>(1));
  const auto quiet = as<vf32<Isa>>(bits | vi32<Isa>(0x400000));
  const auto rounded = xsimd::select(xsimd::isnan(x), quiet, as<vf32<Isa>>(near));
  return as<vf32<Isa>>(as<vi32<Isa>>(rounded) & vi32<Isa>(static_cast<i32>(0xffff0000u)));
}
// Loads and stores one signed byte per lane; stores saturate.
template <class Isa> CKE_INLINE vi32<Isa> load_i8(const void* p) { return primitives<Isa>::load_i8(p); }
template <class Isa> CKE_INLINE void store_i8(void* p, vi32<Isa> v) { primitives<Isa>::store_i8(p, v); }
// Stores lanes as i16, saturated; loads pairs of bytes as pairs of i16, one pair per lane.
template <class Isa> CKE_INLINE void store_i16(void* p, vi32<Isa> v) { primitives<Isa>::store_i16(p, v); }
template <class Isa> CKE_INLINE vi32<Isa> load_i8_as_i16(const void* p) { return primitives<Isa>::load_i8_as_i16(p); }

// Bits [From, From + Count) of each byte, from bit To on; the others are 0.
template <class Isa, u32 From, u32 Count, u32 To> CKE_INLINE vi32<Isa> bit_field(vi32<Isa> v) {
  if constexpr (From != To && std::is_base_of_v<isa::avx512_vnni, Isa>) {
    return primitives<Isa>::template bit_field<From, Count, To>(v);
  } else {
    const vi32<Isa> mask(static_cast<i32>(((1u << Count) - 1) * 0x01010101u << To));
    if constexpr (From < To) v = v << static_cast<i32>(To - From);
    if constexpr (From > To) v = v >> static_cast<i32>(From - To);
    return v & mask;
  }
}

// Byte operations, within each 16 bytes of a register. lookup: table[index], for indices below 16.
template <class Isa> CKE_INLINE vi32<Isa> lookup(vi32<Isa> table, vi32<Isa> index) {
  return primitives<Isa>::lookup(table, index);
}
// The same, where index counts with its low four bits and the table has the same 16 bytes everywhere.
template <class Isa> CKE_INLINE vi32<Isa> lookup_nibble(vi32<Isa> table, vi32<Isa> index) {
  if constexpr (std::is_base_of_v<isa::avx512_vnni, Isa>) return primitives<Isa>::lookup_of_64(table, index);
  else return lookup<Isa>(table, bit_field<Isa, 0, 4, 0>(index));
}
// Interleaves a0 b0 a1 b1 ... the first 8 bytes of a and b (zip_low), or the last 8 (zip_high).
template <class Isa> CKE_INLINE vi32<Isa> zip_low(vi32<Isa> a, vi32<Isa> b) { return primitives<Isa>::zip_low(a, b); }
template <class Isa> CKE_INLINE vi32<Isa> zip_high(vi32<Isa> a, vi32<Isa> b) { return primitives<Isa>::zip_high(a, b); }
// The inverse: narrows the 8 16-bit numbers (below 256) of low, then those of high, to bytes.
template <class Isa> CKE_INLINE vi32<Isa> unzip(vi32<Isa> low, vi32<Isa> high) {
  return primitives<Isa>::unzip(low, high);
}

// Rows become columns. (xsimd's own goes through memory, a number at a time, where registers have 512 bits.)
template <class Isa> CKE_INLINE void transpose(vf32<Isa> (&square)[Isa::lanes]) {
  if constexpr (Isa::lanes == 16) primitives<Isa>::transpose(square);
  else xsimd::transpose(square, square + Isa::lanes);
}

// Adds the lanes by halving, (x0 + x8) + (x4 + x12) ..., in that order on every compiler; reduce_max is their maximum.
// (xsimd's own instantiate a shuffle type for each halving, which slows down each compile of a model.)
template <class Isa> CKE_INLINE float reduce_add(vf32<Isa> v) { return primitives<Isa>::reduce_add(v); }
template <class Isa> CKE_INLINE i32 reduce_add(vi32<Isa> v) { return primitives<Isa>::reduce_add(v); }
template <class Isa> CKE_INLINE float reduce_max(vf32<Isa> v) { return primitives<Isa>::reduce_max(v); }
template <class Isa> CKE_INLINE i32 reduce_max(vi32<Isa> v) { return primitives<Isa>::reduce_max(v); }

// ---- exp: defined once, so that it has the same bits wherever it is inlined ---------------------

// 2^n * e^r for |r| <= ln2 / 2 and integral n in [-127, 128]; 2^-127 is 0. Within 1.5 ulp.
template <class Isa> CKE_INLINE vf32<Isa> exp_of_parts(vf32<Isa> n, vf32<Isa> r) {
  vf32<Isa> p(1.9875691500e-4f);
  for (const float c : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
    p = xsimd::fma(p, r, vf32<Isa>(c));
  p = xsimd::fma(p, r * r, r) + vf32<Isa>(1.f);
  const vi32<Isa> power = (xsimd::to_int(n) + vi32<Isa>(127)) << 23;
  return p * as<vf32<Isa>>(power);
}
// x is the first argument because xsimd::max, like std::max, then keeps a NaN.
template <class Isa> CKE_INLINE vf32<Isa> clamp(vf32<Isa> x, float low, float high) {
  return xsimd::min(xsimd::max(x, vf32<Isa>(low)), vf32<Isa>(high));
}
// 2^x: 0 below -126.5 (no subnormals), infinite from 127.5.
template <class Isa> CKE_INLINE vf32<Isa> exp2(vf32<Isa> x) {
  x = clamp<Isa>(x, -127.f, 128.f);
  const vf32<Isa> n = xsimd::nearbyint(x);
  return exp_of_parts<Isa>(n, (x - n) * vf32<Isa>(0.693147181f));
}
// e^x: 0 below -87.7, infinite from 88.4. n * ln2 is subtracted in two parts, the first exact.
template <class Isa> CKE_INLINE vf32<Isa> exp(vf32<Isa> x) {
  x = clamp<Isa>(x, -88.03f, 88.73f);
  const vf32<Isa> n = xsimd::nearbyint(x * vf32<Isa>(1.44269504f));
  const vf32<Isa> r = xsimd::fma(n, vf32<Isa>(-0.693359375f), x);  // xsimd's fnma rounds twice on NEON
  return exp_of_parts<Isa>(n, xsimd::fma(n, vf32<Isa>(2.12194440e-4f), r));
}
// a / b, correctly rounded; xsimd's own is an estimate on NEON.
template <class Isa> CKE_INLINE vf32<Isa> quotient(vf32<Isa> a, vf32<Isa> b) {
  if constexpr (std::is_same_v<Isa, isa::neon>) return a.data / b.data;
  else return a / b;
}
// Within 2e-7 of tanh(x), absolute. That is enough for a soft cap, which depends on the distance from +-1 and 0.
template <class Isa> CKE_INLINE vf32<Isa> tanh(vf32<Isa> x) {
  const vf32<Isa> one(1.f);
  return one - quotient<Isa>(vf32<Isa>(2.f), one + exp<Isa>(x + x));
}

}  // namespace cke::simd

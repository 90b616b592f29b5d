// SPDX-License-Identifier: MIT
// simd.hpp: what xsimd lacks: byte and bf16 dots, half loads and stores, exp, ordered sums.
#pragma once

#include <bit>
#include <cstring>

#include "isa.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace cke::simd {

template <class Isa> using vf32 = isa::batch<Isa, float>;
template <class Isa> using vi32 = isa::batch<Isa, i32>;
template <class Isa> using vu32 = isa::batch<Isa, u32>;

template <class Isa> inline constexpr bool is_scalar = std::is_same_v<Isa, isa::scalar>;
// dot4 takes every u8; without it, only up to 128 (pairs are summed in 16 bits).
template <class Isa> inline constexpr bool has_vnni = std::is_base_of_v<isa::avx512_vnni, Isa>;

// ---- the primitives, on raw registers: one struct for each isa --------------------------------

template <class Isa> struct primitives;

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
template <> struct primitives<isa::avx2> {
  CKE_INLINE static __m256i dot4(__m256i acc, __m256i u, __m256i s) {
    const __m256i pairs = _mm256_maddubs_epi16(u, s);
    return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  CKE_INLINE static __m256i dot4_signed(__m256i acc, __m256i w, __m256i x) {
    return dot4(acc, _mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
  }
  CKE_INLINE static __m256i dot2_i16(__m256i acc, __m256i w, __m256i x) {
    return _mm256_add_epi32(acc, _mm256_madd_epi16(w, x));
  }
  CKE_INLINE static __m256i load_i8_as_i16(const void* p) {
    return _mm256_cvtepi8_epi16(half_line(p));
  }
  CKE_INLINE static void store_i16(void* p, __m256i v) {
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi32(v, v), 0x08);
    _mm_storeu_si128(static_cast<__m128i*>(p), _mm256_castsi256_si128(packed));
  }
  CKE_INLINE static __m256 dot2_bf16(__m256 acc, __m256i w, __m256i x) {
    const __m256i odd = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
    const auto f = [](__m256i bits) { return _mm256_castsi256_ps(bits); };
    acc = _mm256_fmadd_ps(f(_mm256_slli_epi32(w, 16)), f(_mm256_slli_epi32(x, 16)), acc);
    return _mm256_fmadd_ps(f(_mm256_and_si256(w, odd)), f(_mm256_and_si256(x, odd)), acc);
  }
  CKE_INLINE static __m128i half_line(const void* p) {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
  }
  CKE_INLINE static __m256 load_f16(const void* p) { return _mm256_cvtph_ps(half_line(p)); }
  CKE_INLINE static void store_f16(void* p, __m256 v) {
    _mm_storeu_si128(static_cast<__m128i*>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
  CKE_INLINE static __m256 load_bf16(const void* p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half_line(p)), 16));
  }
  // to_bf16 of dtype.hpp in registers.
  CKE_INLINE static void store_bf16(void* p, __m256 v) {
    const __m256i b = _mm256_castps_si256(v), top = _mm256_srli_epi32(b, 16);
    const __m256i lsb = _mm256_and_si256(top, _mm256_set1_epi32(1));
    const __m256i near = _mm256_srli_epi32(
        _mm256_add_epi32(b, _mm256_add_epi32(lsb, _mm256_set1_epi32(0x7fff))), 16);
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    const __m256i r = _mm256_blendv_epi8(near, _mm256_or_si256(top, _mm256_set1_epi32(64)), nan);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(r, r), 0x08);
    _mm_storeu_si128(static_cast<__m128i*>(p), _mm256_castsi256_si128(packed));
  }
  CKE_INLINE static __m256i load_i8(const void* p) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(p)));
  }
  CKE_INLINE static void store_i8(void* p, __m256i v) {
    const __m128i w = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    _mm_storel_epi64(static_cast<__m128i*>(p), _mm_packs_epi16(w, w));
  }
  CKE_INLINE static __m256i lookup(__m256i table, __m256i i) {
    return _mm256_shuffle_epi8(table, i);
  }
  CKE_INLINE static __m256i zip_low(__m256i a, __m256i b) { return _mm256_unpacklo_epi8(a, b); }
  CKE_INLINE static __m256i zip_high(__m256i a, __m256i b) { return _mm256_unpackhi_epi8(a, b); }
  CKE_INLINE static __m256i unzip(__m256i low, __m256i high) {
    return _mm256_packus_epi16(low, high);
  }
  CKE_INLINE static float reduce_add(__m256 v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
  }
  CKE_INLINE static float reduce_max(__m256 v) {
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_shuffle_ps(s, s, 1)));
  }
  CKE_INLINE static i32 reduce_add(__m256i v) {
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
  }
  CKE_INLINE static i32 reduce_max(__m256i v) {
    __m128i s = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    s = _mm_max_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
  }
};
#endif

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
template <> struct primitives<isa::avx512> {
  CKE_INLINE static __m512i dot4(__m512i acc, __m512i u, __m512i s) {
    const __m512i pairs = _mm512_maddubs_epi16(u, s);
    return _mm512_add_epi32(acc, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
  }
  CKE_INLINE static __m512i dot4_signed(__m512i acc, __m512i w, __m512i x) {
    const __m512i moved =
        _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(w), _mm512_setzero_si512(), x);
    return dot4(acc, _mm512_abs_epi8(w), moved);
  }
  CKE_INLINE static __m512i dot2_i16(__m512i acc, __m512i w, __m512i x) {
    return _mm512_add_epi32(acc, _mm512_madd_epi16(w, x));
  }
  CKE_INLINE static __m512i load_i8_as_i16(const void* p) {
    return _mm512_cvtepi8_epi16(half_line(p));
  }
  CKE_INLINE static void store_i16(void* p, __m512i v) {
    _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtsepi32_epi16(v));
  }
  CKE_INLINE static __m512 dot2_bf16(__m512 acc, __m512i w, __m512i x) {
    const __m512i odd = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
    const auto f = [](__m512i bits) { return _mm512_castsi512_ps(bits); };
    acc = _mm512_fmadd_ps(f(_mm512_slli_epi32(w, 16)), f(_mm512_slli_epi32(x, 16)), acc);
    return _mm512_fmadd_ps(f(_mm512_and_si512(w, odd)), f(_mm512_and_si512(x, odd)), acc);
  }
  CKE_INLINE static __m256i half_line(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  CKE_INLINE static __m512 load_f16(const void* p) { return _mm512_cvtph_ps(half_line(p)); }
  CKE_INLINE static void store_f16(void* p, __m512 v) {
    // Every lane, but spelled so that gcc's -O0 macro has no negative mask to warn about.
    const __m256i h = _mm512_maskz_cvtps_ph(__mmask16{0xffff}, v, _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256(static_cast<__m256i*>(p), h);
  }
  CKE_INLINE static __m512 load_bf16(const void* p) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half_line(p)), 16));
  }
  CKE_INLINE static void store_bf16(void* p, __m512 v) {
    const __m512i b = _mm512_castps_si512(v), top = _mm512_srli_epi32(b, 16);
    const __m512i lsb = _mm512_and_si512(top, _mm512_set1_epi32(1));
    const __m512i near = _mm512_srli_epi32(
        _mm512_add_epi32(b, _mm512_add_epi32(lsb, _mm512_set1_epi32(0x7fff))), 16);
    const __mmask16 nan = _mm512_cmpunord_ps_mask(v, v);
    const __m512i r = _mm512_mask_or_epi32(near, nan, top, _mm512_set1_epi32(64));
    _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtepi32_epi16(r));
  }
  CKE_INLINE static __m512i load_i8(const void* p) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
  }
  CKE_INLINE static void store_i8(void* p, __m512i v) {
    _mm_storeu_si128(static_cast<__m128i*>(p), _mm512_cvtsepi32_epi8(v));
  }
  CKE_INLINE static __m512i lookup(__m512i table, __m512i i) {
    return _mm512_shuffle_epi8(table, i);
  }
  CKE_INLINE static __m512i zip_low(__m512i a, __m512i b) { return _mm512_unpacklo_epi8(a, b); }
  CKE_INLINE static __m512i zip_high(__m512i a, __m512i b) { return _mm512_unpackhi_epi8(a, b); }
  CKE_INLINE static __m512i unzip(__m512i low, __m512i high) {
    return _mm512_packus_epi16(low, high);
  }
  using half = primitives<isa::avx2>;
  CKE_INLINE static float reduce_add(__m512 v) {
    return half::reduce_add(_mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1)));
  }
  CKE_INLINE static float reduce_max(__m512 v) {
    return half::reduce_max(_mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1)));
  }
  CKE_INLINE static i32 reduce_add(__m512i v) {
    return half::reduce_add(
        _mm256_add_epi32(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1)));
  }
  CKE_INLINE static i32 reduce_max(__m512i v) {
    return half::reduce_max(
        _mm256_max_epi32(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1)));
  }
};
#endif

#if defined(__AVX512VNNI__) && defined(__AVX512BF16__) && defined(__AVX512VBMI2__)
template <> struct primitives<isa::avx512_vnni> : primitives<isa::avx512> {
  CKE_INLINE static __m512i dot4(__m512i acc, __m512i u, __m512i s) {
    return _mm512_dpbusd_epi32(acc, u, s);
  }
  CKE_INLINE static __m512i dot2_i16(__m512i acc, __m512i w, __m512i x) {
    return _mm512_dpwssd_epi32(acc, w, x);
  }
  CKE_INLINE static __m512 dot2_bf16(__m512 acc, __m512i w, __m512i x) {
    return _mm512_dpbf16_ps(acc, std::bit_cast<__m512bh>(w), std::bit_cast<__m512bh>(x));
  }
  CKE_INLINE static void store_bf16(void* p, __m512 v) {
    _mm256_storeu_si256(static_cast<__m256i*>(p), std::bit_cast<__m256i>(_mm512_cvtneps_pbh(v)));
  }
};
#endif

// ---- the same on batches -----------------------------------------------------------------------

// The four bytes at p in every lane: a broadcast memory operand of the instruction that uses it.
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

// acc[i] + the sum over the four bytes of lane i of u (unsigned; at most 128 unless has_vnni) * s.
template <class Isa> CKE_INLINE vi32<Isa> dot4(vi32<Isa> acc, vi32<Isa> u, vi32<Isa> s) {
  return primitives<Isa>::dot4(acc, u, s);
}
// The same of two signed sides; x is never -128.
template <class Isa> CKE_INLINE vi32<Isa> dot4_signed(vi32<Isa> acc, vi32<Isa> w, vi32<Isa> x) {
  return primitives<Isa>::dot4_signed(acc, w, x);
}
// acc[i] + the two products of the bf16 pairs in lane i, in an order fixed by the isa.
template <class Isa> CKE_INLINE vf32<Isa> dot2_bf16(vf32<Isa> acc, vi32<Isa> w, vi32<Isa> x) {
  return primitives<Isa>::dot2_bf16(acc, w, x);
}
// acc[i] + the two products of the i16 pairs in lane i.
template <class Isa> CKE_INLINE vi32<Isa> dot2_i16(vi32<Isa> acc, vi32<Isa> w, vi32<Isa> x) {
  return primitives<Isa>::dot2_i16(acc, w, x);
}

// One register of 16-bit floats in memory, unaligned; stores round to nearest even. (AVX512-BF16
// stores subnormals as zero: its dot takes them for zero too.)
template <class Isa> CKE_INLINE vf32<Isa> load_f16(const void* p) {
  return primitives<Isa>::load_f16(p);
}
template <class Isa> CKE_INLINE void store_f16(void* p, vf32<Isa> v) {
  primitives<Isa>::store_f16(p, v);
}
template <class Isa> CKE_INLINE vf32<Isa> load_bf16(const void* p) {
  return primitives<Isa>::load_bf16(p);
}
template <class Isa> CKE_INLINE void store_bf16(void* p, vf32<Isa> v) {
  primitives<Isa>::store_bf16(p, v);
}
// One signed byte for each lane; stores saturate.
template <class Isa> CKE_INLINE vi32<Isa> load_i8(const void* p) {
  return primitives<Isa>::load_i8(p);
}
template <class Isa> CKE_INLINE void store_i8(void* p, vi32<Isa> v) {
  primitives<Isa>::store_i8(p, v);
}
// Lanes as i16, saturated; and pairs of bytes as pairs of i16, one pair a lane.
template <class Isa> CKE_INLINE void store_i16(void* p, vi32<Isa> v) {
  primitives<Isa>::store_i16(p, v);
}
template <class Isa> CKE_INLINE vi32<Isa> load_i8_as_i16(const void* p) {
  return primitives<Isa>::load_i8_as_i16(p);
}

// Bytes, in each 16 of a register by themselves: table[index], for indices below 16;
template <class Isa> CKE_INLINE vi32<Isa> lookup(vi32<Isa> table, vi32<Isa> index) {
  return primitives<Isa>::lookup(table, index);
}
// a0 b0 a1 b1 ... of the first, of the last 8 of a and b;
template <class Isa> CKE_INLINE vi32<Isa> zip_low(vi32<Isa> a, vi32<Isa> b) {
  return primitives<Isa>::zip_low(a, b);
}
template <class Isa> CKE_INLINE vi32<Isa> zip_high(vi32<Isa> a, vi32<Isa> b) {
  return primitives<Isa>::zip_high(a, b);
}
// and back, one side at a time: the 8 16-bit numbers (below 256) of low, then those of high.
template <class Isa> CKE_INLINE vi32<Isa> unzip(vi32<Isa> low, vi32<Isa> high) {
  return primitives<Isa>::unzip(low, high);
}

// Sum of the lanes by halving: (x0 + x8) + (x4 + x12) ..., whatever the compiler; and their
// maximum. (xsimd's instantiate a shuffle type for each halving, which a model's compile pays for.)
template <class Isa> CKE_INLINE float reduce_add(vf32<Isa> v) {
  return primitives<Isa>::reduce_add(v);
}
template <class Isa> CKE_INLINE i32 reduce_add(vi32<Isa> v) { return primitives<Isa>::reduce_add(v); }
template <class Isa> CKE_INLINE float reduce_max(vf32<Isa> v) {
  return primitives<Isa>::reduce_max(v);
}
template <class Isa> CKE_INLINE i32 reduce_max(vi32<Isa> v) { return primitives<Isa>::reduce_max(v); }

// ---- exp: one definition, so the same bits wherever it is inlined ------------------------------

// 2^n * e^r for |r| <= ln2 / 2 and integral n in [-127, 128]; 2^-127 is 0. Within 1.5 ulp.
template <class Isa> CKE_INLINE vf32<Isa> exp_of_parts(vf32<Isa> n, vf32<Isa> r) {
  vf32<Isa> p(1.9875691500e-4f);
  for (const float c :
       {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
    p = xsimd::fma(p, r, vf32<Isa>(c));
  p = xsimd::fma(p, r * r, r) + vf32<Isa>(1.f);
  const vi32<Isa> power = (xsimd::to_int(n) + vi32<Isa>(127)) << 23;
  return p * xsimd::bitwise_cast<float>(power);
}
// x comes first: like std::max, xsimd's then keeps a NaN.
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
  const vf32<Isa> r = xsimd::fnma(n, vf32<Isa>(0.693359375f), x);
  return exp_of_parts<Isa>(n, xsimd::fnma(n, vf32<Isa>(-2.12194440e-4f), r));
}
// Within 2e-7 of tanh(x): what matters of a soft cap is its distance from +-1 and 0, not the last bits of small x.
template <class Isa> CKE_INLINE vf32<Isa> tanh(vf32<Isa> x) {
  const vf32<Isa> one(1.f);
  return one - vf32<Isa>(2.f) / (one + exp<Isa>(x + x));
}

}  // namespace cke::simd

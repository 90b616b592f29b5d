// SPDX-License-Identifier: MIT
// simd_avx512.hpp: the primitives of simd.hpp on 512-bit registers.
#pragma once

#include <bit>

#include "simd_avx2.hpp"

#if defined(CKE_HAS_AVX512)

namespace cke::simd {

template <> struct primitives<isa::avx512> {
  CKE_INLINE static __m512i dot_pairs(__m512i u, __m512i s) { return _mm512_maddubs_epi16(u, s); }
  CKE_INLINE static __m512i add_i16(__m512i a, __m512i b) { return _mm512_add_epi16(a, b); }
  CKE_INLINE static __m512i add_pairs(__m512i acc, __m512i pairs) {
    return _mm512_add_epi32(acc, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
  }
  CKE_INLINE static __m512i dot4(__m512i acc, __m512i u, __m512i s) { return add_pairs(acc, dot_pairs(u, s)); }
  CKE_INLINE static __m512i dot4_signed(__m512i acc, __m512i w, __m512i x) {
    const __m512i moved = _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(w), _mm512_setzero_si512(), x);
    return dot4(acc, _mm512_abs_epi8(w), moved);
  }
  CKE_INLINE static __m512i dot2_i16(__m512i acc, __m512i w, __m512i x) {
    return _mm512_add_epi32(acc, _mm512_madd_epi16(w, x));
  }
  CKE_INLINE static __m512i load_i8_as_i16(const void* p) { return _mm512_cvtepi8_epi16(half_line(p)); }
  CKE_INLINE static void store_i16(void* p, __m512i v) {
    _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtsepi32_epi16(v));
  }
  CKE_INLINE static __m512 dot2_bf16(__m512 acc, __m512i w, __m512i x) {
    const __m512i odd = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
    const auto f = [](__m512i bits) { return _mm512_castsi512_ps(bits); };
    acc = _mm512_fmadd_ps(f(_mm512_slli_epi32(w, 16)), f(_mm512_slli_epi32(x, 16)), acc);
    return _mm512_fmadd_ps(f(_mm512_and_si512(w, odd)), f(_mm512_and_si512(x, odd)), acc);
  }
  CKE_INLINE static __m256i half_line(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
  CKE_INLINE static __m512 load_f16(const void* p) { return _mm512_cvtph_ps(half_line(p)); }
  CKE_INLINE static void store_f16(void* p, __m512 v) {
    // All lanes; a mask of 0xffff avoids the negative mask in gcc's -O0 macro, which would warn.
    const __m256i h = _mm512_maskz_cvtps_ph(__mmask16{0xffff}, v, _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256(static_cast<__m256i*>(p), h);
  }
  CKE_INLINE static __m512 load_bf16(const void* p) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half_line(p)), 16));
  }
  CKE_INLINE static void store_bf16(void* p, __m512 v) {
    const __m512i b = _mm512_castps_si512(v), top = _mm512_srli_epi32(b, 16);
    const __m512i lsb = _mm512_and_si512(top, _mm512_set1_epi32(1));
    const __m512i near = _mm512_srli_epi32(_mm512_add_epi32(b, _mm512_add_epi32(lsb, _mm512_set1_epi32(0x7fff))), 16);
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
  CKE_INLINE static __m512i lookup(__m512i table, __m512i i) { return _mm512_shuffle_epi8(table, i); }
  CKE_INLINE static __m512i zip_low(__m512i a, __m512i b) { return _mm512_unpacklo_epi8(a, b); }
  CKE_INLINE static __m512i zip_high(__m512i a, __m512i b) { return _mm512_unpackhi_epi8(a, b); }
  CKE_INLINE static __m512i unzip(__m512i low, __m512i high) { return _mm512_packus_epi16(low, high); }
  template <class Row> CKE_INLINE static void transpose(Row (&rows)[16]) {  // zips rows i and i + 8, four times
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    for (int times = 0; times < 4; ++times) {
      Row zipped[16];
      for (int i = 0; i < 8; ++i) {
        zipped[2 * i] = _mm512_permutex2var_ps(rows[i], low, rows[i + 8]);
        zipped[2 * i + 1] = _mm512_permutex2var_ps(rows[i], high, rows[i + 8]);
      }
      for (int i = 0; i < 16; ++i) rows[i] = zipped[i];
    }
  }
  using half = primitives<isa::avx2>;
  CKE_INLINE static float reduce_add(__m512 v) {
    return half::reduce_add(_mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1)));
  }
  CKE_INLINE static float reduce_max(__m512 v) {
    return half::reduce_max(_mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1)));
  }
  CKE_INLINE static i32 reduce_add(__m512i v) {
    return half::reduce_add(_mm256_add_epi32(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1)));
  }
  CKE_INLINE static i32 reduce_max(__m512i v) {
    return half::reduce_max(_mm256_max_epi32(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1)));
  }
};

#if defined(CKE_HAS_AVX512_VNNI)
template <> struct primitives<isa::avx512_vnni> : primitives<isa::avx512> {
  CKE_INLINE static __m512i dot4(__m512i acc, __m512i u, __m512i s) { return _mm512_dpbusd_epi32(acc, u, s); }
  CKE_INLINE static __m512i dot2_i16(__m512i acc, __m512i w, __m512i x) { return _mm512_dpwssd_epi32(acc, w, x); }
  CKE_INLINE static __m512i lookup_of_64(__m512i table, __m512i i) { return _mm512_permutexvar_epi8(i, table); }
  template <u32 From, u32 Count, u32 To> CKE_INLINE static __m512i bit_field(__m512i v) {
    constexpr u64 matrix = [] {  // byte 7 - i says of which bits bit i is the sum
      u64 m = 0;
      for (u32 i = 0; i < Count; ++i) m |= u64{1} << (8 * (7 - To - i) + From + i);
      return m;
    }();
    return _mm512_gf2p8affine_epi64_epi8(v, _mm512_set1_epi64(static_cast<i64>(matrix)), 0);
  }
  CKE_INLINE static __m512 dot2_bf16(__m512 acc, __m512i w, __m512i x) {
    return _mm512_dpbf16_ps(acc, std::bit_cast<__m512bh>(w), std::bit_cast<__m512bh>(x));
  }
  CKE_INLINE static __m512i bf16_chain(__m512 first, __m512 second) {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i order = _mm512_or_si512(lane, _mm512_slli_epi32(_mm512_or_si512(lane, _mm512_set1_epi32(16)), 16));
    return _mm512_permutexvar_epi16(order, std::bit_cast<__m512i>(_mm512_cvtne2ps_pbh(first, second)));
  }
  CKE_INLINE static __m256i to_bf16(__m512 v) { return std::bit_cast<__m256i>(_mm512_cvtneps_pbh(v)); }
  CKE_INLINE static void store_bf16(void* p, __m512 v) { _mm256_storeu_si256(static_cast<__m256i*>(p), to_bf16(v)); }
  CKE_INLINE static __m512 round_bf16(__m512 v) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(to_bf16(v)), 16));
  }
};
#endif

#if defined(CKE_HAS_AVX512_FP16)
template <> struct primitives<isa::avx512_fp16> : primitives<isa::avx512_vnni> {
  CKE_INLINE static __m512 dot2_bf16(__m512 acc, __m512i w, __m512i x) {  // in the order of the instruction
    const __m512i odd = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
    const auto f = [](__m512i bits) { return _mm512_castsi512_ps(bits); };
    acc = _mm512_fmadd_ps(f(_mm512_and_si512(w, odd)), f(_mm512_and_si512(x, odd)), acc);
    return _mm512_fmadd_ps(f(_mm512_slli_epi32(w, 16)), f(_mm512_slli_epi32(x, 16)), acc);
  }
  CKE_INLINE static __m512 swap_pairs(__m512 v) { return _mm512_permute_ps(v, 0xb1); }
};
#endif

}  // namespace cke::simd
#endif

// SPDX-License-Identifier: MIT
// simd_avx2.hpp: the primitives of simd.hpp on 256-bit registers.
#pragma once

#include "isa.hpp"

#if defined(CKE_HAS_AVX2)
#include <immintrin.h>

namespace cke::simd {

template <> struct primitives<isa::avx2> {
  CKE_INLINE static __m256i dot_pairs(__m256i u, __m256i s) { return _mm256_maddubs_epi16(u, s); }
  CKE_INLINE static __m256i add_i16(__m256i a, __m256i b) { return _mm256_add_epi16(a, b); }
  CKE_INLINE static __m256i add_pairs(__m256i acc, __m256i pairs) {
    return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  CKE_INLINE static __m256i dot4(__m256i acc, __m256i u, __m256i s) { return add_pairs(acc, dot_pairs(u, s)); }
  CKE_INLINE static __m256i dot4_signed(__m256i acc, __m256i w, __m256i x) {
    return dot4(acc, _mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
  }
  CKE_INLINE static __m256i dot2_i16(__m256i acc, __m256i w, __m256i x) {
    return _mm256_add_epi32(acc, _mm256_madd_epi16(w, x));
  }
  CKE_INLINE static __m256i load_i8_as_i16(const void* p) { return _mm256_cvtepi8_epi16(half_line(p)); }
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
  CKE_INLINE static __m128i half_line(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
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
    const __m256i near = _mm256_srli_epi32(_mm256_add_epi32(b, _mm256_add_epi32(lsb, _mm256_set1_epi32(0x7fff))), 16);
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
  CKE_INLINE static __m256i lookup(__m256i table, __m256i i) { return _mm256_shuffle_epi8(table, i); }
  CKE_INLINE static __m256i zip_low(__m256i a, __m256i b) { return _mm256_unpacklo_epi8(a, b); }
  CKE_INLINE static __m256i zip_high(__m256i a, __m256i b) { return _mm256_unpackhi_epi8(a, b); }
  CKE_INLINE static __m256i unzip(__m256i low, __m256i high) { return _mm256_packus_epi16(low, high); }
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

#if defined(CKE_HAS_AVX2_VNNI)
template <> struct primitives<isa::avx2_vnni> : primitives<isa::avx2> {
  CKE_INLINE static __m256i dot4(__m256i acc, __m256i u, __m256i s) { return _mm256_dpbusd_avx_epi32(acc, u, s); }
  CKE_INLINE static __m256i dot2_i16(__m256i acc, __m256i w, __m256i x) { return _mm256_dpwssd_avx_epi32(acc, w, x); }
};
#endif

}  // namespace cke::simd
#endif

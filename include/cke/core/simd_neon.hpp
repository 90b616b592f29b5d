// SPDX-License-Identifier: MIT
// simd_neon.hpp: the primitives of simd.hpp on the 128-bit registers of arm64.
#pragma once

#include <cstring>

#include "isa.hpp"

#if defined(CKE_HAS_NEON)
#include <arm_neon.h>

namespace cke::simd {

template <> struct primitives<isa::neon> {
  CKE_INLINE static int32x4_t dot4(int32x4_t acc, int32x4_t u, int32x4_t s) { return dot4_signed(acc, u, s); }
  CKE_INLINE static int32x4_t dot4_signed(int32x4_t acc, int32x4_t w, int32x4_t x) {
    const int8x16_t a = vreinterpretq_s8_s32(w), b = vreinterpretq_s8_s32(x);
#if defined(__ARM_FEATURE_DOTPROD)
    return vdotq_s32(acc, a, b);
#else
    return vpadalq_s16(acc, vpaddq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b)), vmull_high_s8(a, b)));
#endif
  }
  CKE_INLINE static int32x4_t dot2_i16(int32x4_t acc, int32x4_t w, int32x4_t x) {
    const int16x8_t a = vreinterpretq_s16_s32(w), b = vreinterpretq_s16_s32(x);
    return vaddq_s32(acc, vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b)));
  }
  CKE_INLINE static int32x4_t load_i8_as_i16(const void* p) {
    return vreinterpretq_s32_s16(vmovl_s8(vld1_s8(static_cast<const i8*>(p))));
  }
  CKE_INLINE static void store_i16(void* p, int32x4_t v) { vst1_s16(static_cast<i16*>(p), vqmovn_s32(v)); }
  // Does not use bfdot, which rounds otherwise than two fmas do, and differently from CPU to CPU.
  CKE_INLINE static float32x4_t dot2_bf16(float32x4_t acc, int32x4_t w, int32x4_t x) {
    const int32x4_t odd = vdupq_n_s32(static_cast<i32>(0xffff0000u));
    const auto f = [](int32x4_t bits) { return vreinterpretq_f32_s32(bits); };
    acc = vfmaq_f32(acc, f(vshlq_n_s32(w, 16)), f(vshlq_n_s32(x, 16)));
    return vfmaq_f32(acc, f(vandq_s32(w, odd)), f(vandq_s32(x, odd)));
  }
  CKE_INLINE static uint16x4_t half_line(const void* p) { return vld1_u16(static_cast<const u16*>(p)); }
  CKE_INLINE static float32x4_t load_f16(const void* p) { return vcvt_f32_f16(vreinterpret_f16_u16(half_line(p))); }
  CKE_INLINE static void store_f16(void* p, float32x4_t v) {
    vst1_u16(static_cast<u16*>(p), vreinterpret_u16_f16(vcvt_f16_f32(v)));
  }
  CKE_INLINE static float32x4_t load_bf16(const void* p) {
    return vreinterpretq_f32_u32(vshll_n_u16(half_line(p), 16));
  }
  // to_bf16 of dtype.hpp in registers.
  CKE_INLINE static void store_bf16(void* p, float32x4_t v) {
    const uint32x4_t b = vreinterpretq_u32_f32(v), top = vshrq_n_u32(b, 16);
    const uint32x4_t lsb = vandq_u32(top, vdupq_n_u32(1));
    const uint32x4_t near = vshrq_n_u32(vaddq_u32(b, vaddq_u32(lsb, vdupq_n_u32(0x7fff))), 16);
    const uint32x4_t r = vbslq_u32(vceqq_f32(v, v), near, vorrq_u32(top, vdupq_n_u32(64)));
    vst1_u16(static_cast<u16*>(p), vmovn_u32(r));
  }
  CKE_INLINE static int32x4_t load_i8(const void* p) {
    u32 four;
    std::memcpy(&four, p, 4);
    return vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(four))));
  }
  CKE_INLINE static void store_i8(void* p, int32x4_t v) {
    const int16x4_t w = vqmovn_s32(v);
    const int8x8_t bytes = vqmovn_s16(vcombine_s16(w, w));
    const u32 four = vget_lane_u32(vreinterpret_u32_s8(bytes), 0);
    std::memcpy(p, &four, 4);
  }
  CKE_INLINE static int8x16_t bytes(int32x4_t v) { return vreinterpretq_s8_s32(v); }
  CKE_INLINE static int32x4_t words(int8x16_t v) { return vreinterpretq_s32_s8(v); }
  CKE_INLINE static int32x4_t lookup(int32x4_t table, int32x4_t i) {
    return words(vqtbl1q_s8(bytes(table), vreinterpretq_u8_s32(i)));
  }
  CKE_INLINE static int32x4_t zip_low(int32x4_t a, int32x4_t b) { return words(vzip1q_s8(bytes(a), bytes(b))); }
  CKE_INLINE static int32x4_t zip_high(int32x4_t a, int32x4_t b) { return words(vzip2q_s8(bytes(a), bytes(b))); }
  CKE_INLINE static int32x4_t unzip(int32x4_t low, int32x4_t high) { return words(vuzp1q_s8(bytes(low), bytes(high))); }
  CKE_INLINE static float reduce_add(float32x4_t v) {
    const float32x2_t s = vadd_f32(vget_low_f32(v), vget_high_f32(v));
    return vget_lane_f32(s, 0) + vget_lane_f32(s, 1);
  }
  CKE_INLINE static float reduce_max(float32x4_t v) { return vmaxvq_f32(v); }
  CKE_INLINE static i32 reduce_add(int32x4_t v) { return vaddvq_s32(v); }
  CKE_INLINE static i32 reduce_max(int32x4_t v) { return vmaxvq_s32(v); }
};

}  // namespace cke::simd
#endif

// SPDX-License-Identifier: MIT
// simd_wasm.hpp: the primitives of simd.hpp on the 128-bit registers of WebAssembly.
//
// Relaxed instructions are used only where every engine must give the same result: dots of bytes whose second side is
// at most 127. There is no fused multiply-add, since the relaxed one fuses on some CPUs and not on others.
#pragma once

#include "isa.hpp"

#if defined(CKE_HAS_WASM)
#include <wasm_simd128.h>

namespace cke::simd {

template <> struct primitives<isa::wasm> {
  CKE_INLINE static v128_t dot4(v128_t acc, v128_t u, v128_t s) {
#if defined(__wasm_relaxed_simd__)
    return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(s, u, acc);
#else
    return dot4_signed(acc, u, s);
#endif
  }
  // Making one side positive for a relaxed dot takes longer than these two dots of 16 bits.
  CKE_INLINE static v128_t dot4_signed(v128_t acc, v128_t w, v128_t x) {
    const auto even = [](v128_t v) { return wasm_i16x8_shr(wasm_i16x8_shl(v, 8), 8); };
    const auto odd = [](v128_t v) { return wasm_i16x8_shr(v, 8); };
    return dot2_i16(dot2_i16(acc, even(w), even(x)), odd(w), odd(x));
  }
  CKE_INLINE static v128_t dot2_i16(v128_t acc, v128_t w, v128_t x) {
    return wasm_i32x4_add(acc, wasm_i32x4_dot_i16x8(w, x));
  }
  CKE_INLINE static v128_t load_i8_as_i16(const void* p) { return wasm_i16x8_load8x8(p); }
  CKE_INLINE static void store_i16(void* p, v128_t v) { wasm_v128_store64_lane(p, wasm_i16x8_narrow_i32x4(v, v), 0); }
  CKE_INLINE static v128_t dot2_bf16(v128_t acc, v128_t w, v128_t x) {
    const v128_t odd = wasm_i32x4_splat(static_cast<i32>(0xffff0000u));
    acc = wasm_f32x4_add(wasm_f32x4_mul(wasm_i32x4_shl(w, 16), wasm_i32x4_shl(x, 16)), acc);
    return wasm_f32x4_add(wasm_f32x4_mul(wasm_v128_and(w, odd), wasm_v128_and(x, odd)), acc);
  }

  // There are no instructions for half floats: the exponent is moved by a product, which is exact for subnormals too.
  CKE_INLINE static v128_t load_f16(const void* p) {
    const v128_t h = wasm_u32x4_load16x4(p), size = wasm_v128_and(h, wasm_i32x4_splat(0x7fff));
    const v128_t number = wasm_f32x4_mul(wasm_i32x4_shl(size, 13), wasm_f32x4_splat(0x1p112f));
    const v128_t special = wasm_i32x4_ge(size, wasm_i32x4_splat(0x7c00));  // infinity or NaN
    const v128_t top = wasm_v128_and(special, wasm_i32x4_splat(0x7f800000));
    const v128_t sign = wasm_i32x4_shl(wasm_v128_and(h, wasm_i32x4_splat(0x8000)), 16);
    return wasm_v128_or(wasm_v128_or(number, sign), top);
  }
  CKE_INLINE static void store_f16(void* p, v128_t v) {
    const v128_t size = wasm_v128_and(v, wasm_i32x4_splat(0x7fffffff));
    // Normal: round the 13 bits that go, to even, and move the exponent. Subnormal: adding 0.5 rounds at 2^-24.
    const v128_t lsb = wasm_v128_and(wasm_u32x4_shr(size, 13), wasm_i32x4_splat(1));
    const v128_t normal =
        wasm_u32x4_shr(wasm_i32x4_add(wasm_i32x4_add(size, lsb), wasm_i32x4_splat(0xfff - (112 << 23))), 13);
    const v128_t half = wasm_f32x4_splat(0.5f);
    const v128_t subnormal = wasm_i32x4_sub(wasm_f32x4_add(size, half), half);
    v128_t h = wasm_v128_bitselect(subnormal, normal, wasm_i32x4_lt(size, wasm_i32x4_splat(113 << 23)));
    h = wasm_v128_bitselect(wasm_i32x4_splat(0x7c00), h, wasm_i32x4_ge(size, wasm_i32x4_splat(0x477ff000)));
    const v128_t payload = wasm_v128_and(wasm_u32x4_shr(size, 13), wasm_i32x4_splat(0x3ff));
    const v128_t nan = wasm_v128_or(wasm_i32x4_splat(0x7e00), payload);
    h = wasm_v128_bitselect(nan, h, wasm_i32x4_gt(size, wasm_i32x4_splat(0x7f800000)));
    store_low_halves(p, wasm_v128_or(h, wasm_v128_and(wasm_u32x4_shr(v, 16), wasm_i32x4_splat(0x8000))));
  }
  CKE_INLINE static v128_t load_bf16(const void* p) { return wasm_i32x4_shl(wasm_u32x4_load16x4(p), 16); }
  // to_bf16 of dtype.hpp in registers.
  CKE_INLINE static void store_bf16(void* p, v128_t v) {
    const v128_t top = wasm_u32x4_shr(v, 16), lsb = wasm_v128_and(top, wasm_i32x4_splat(1));
    const v128_t near = wasm_u32x4_shr(wasm_i32x4_add(v, wasm_i32x4_add(lsb, wasm_i32x4_splat(0x7fff))), 16);
    const v128_t nan = wasm_v128_or(top, wasm_i32x4_splat(64));
    store_low_halves(p, wasm_v128_bitselect(near, nan, wasm_f32x4_eq(v, v)));
  }
  // The lower 16 bits of each lane.
  CKE_INLINE static void store_low_halves(void* p, v128_t v) {
    wasm_v128_store64_lane(p, wasm_i8x16_shuffle(v, v, 0, 1, 4, 5, 8, 9, 12, 13, 0, 1, 4, 5, 8, 9, 12, 13), 0);
  }
  CKE_INLINE static v128_t load_i8(const void* p) {
    return wasm_i32x4_extend_low_i16x8(wasm_i16x8_extend_low_i8x16(wasm_v128_load32_zero(p)));
  }
  CKE_INLINE static void store_i8(void* p, v128_t v) {
    const v128_t w = wasm_i16x8_narrow_i32x4(v, v);
    wasm_v128_store32_lane(p, wasm_i8x16_narrow_i16x8(w, w), 0);
  }
  CKE_INLINE static v128_t lookup(v128_t table, v128_t i) { return wasm_i8x16_swizzle(table, i); }
  CKE_INLINE static v128_t zip_low(v128_t a, v128_t b) {
    return wasm_i8x16_shuffle(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  }
  CKE_INLINE static v128_t zip_high(v128_t a, v128_t b) {
    return wasm_i8x16_shuffle(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  }
  CKE_INLINE static v128_t unzip(v128_t low, v128_t high) { return wasm_u8x16_narrow_i16x8(low, high); }

  // Registers have one type here, whatever is in them; batches tell floats from integers.
  using floats = isa::batch<isa::wasm, float>;
  using integers = isa::batch<isa::wasm, i32>;
  CKE_INLINE static v128_t upper_half(v128_t v) { return wasm_i32x4_shuffle(v, v, 2, 3, 2, 3); }
  CKE_INLINE static v128_t second(v128_t v) { return wasm_i32x4_shuffle(v, v, 1, 1, 1, 1); }
  CKE_INLINE static float reduce_add(floats v) {
    const v128_t s = wasm_f32x4_add(v, upper_half(v));
    return wasm_f32x4_extract_lane(wasm_f32x4_add(s, second(s)), 0);
  }
  CKE_INLINE static float reduce_max(floats v) {
    const v128_t s = wasm_f32x4_max(v, upper_half(v));
    return wasm_f32x4_extract_lane(wasm_f32x4_max(s, second(s)), 0);
  }
  CKE_INLINE static i32 reduce_add(integers v) {
    const v128_t s = wasm_i32x4_add(v, upper_half(v));
    return wasm_i32x4_extract_lane(wasm_i32x4_add(s, second(s)), 0);
  }
  CKE_INLINE static i32 reduce_max(integers v) {
    const v128_t s = wasm_i32x4_max(v, upper_half(v));
    return wasm_i32x4_extract_lane(wasm_i32x4_max(s, second(s)), 0);
  }
};

}  // namespace cke::simd
#endif

// SPDX-License-Identifier: MIT
// machine_features.hpp: what code for a machine may use, as F(name for __builtin_cpu_supports, predefined macro).
#pragma once

// clang-format off
#define CKE_MACHINE_FEATURES(F)                                                                              \
  F("sse4.2", __SSE4_2__) F("popcnt", __POPCNT__) F("avx", __AVX__) F("avx2", __AVX2__) F("fma", __FMA__)    \
  F("f16c", __F16C__) F("bmi", __BMI__) F("bmi2", __BMI2__) F("lzcnt", __LZCNT__)                            \
  F("avx512f", __AVX512F__) F("avx512bw", __AVX512BW__) F("avx512cd", __AVX512CD__)                          \
  F("avx512dq", __AVX512DQ__) F("avx512vl", __AVX512VL__) F("avx512ifma", __AVX512IFMA__)                    \
  F("avx512vbmi", __AVX512VBMI__) F("avx512vbmi2", __AVX512VBMI2__) F("avx512vnni", __AVX512VNNI__)          \
  F("avx512bitalg", __AVX512BITALG__) F("avx512vpopcntdq", __AVX512VPOPCNTDQ__)                              \
  F("avx512bf16", __AVX512BF16__) F("gfni", __GFNI__) F("avxvnni", __AVXVNNI__)
// clang-format on

// Which of them this build's code may use, in this order: machine_needs.cpp.
extern const bool cke_machine_needs[];

// SPDX-License-Identifier: MIT
// machine_features.hpp: what code for a machine may use beyond plain x86-64, and how a cpu tells that it has it.
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

// F(name, macro that a compiler predefines, word of cpu_words, its bit, registers that the system must save). The list
// has what compilers use unasked, and what the intrinsics of kernels need. The rest is left out, so that a cpu without
// it may run the code: aes, sha, vaes, vpclmulqdq, avx512vp2intersect, amx, adx, rdrnd, xsave, movdiri, clwb and more.
// clang-format off
#define CKE_MACHINE_FEATURES(F)                                                                                        \
  F("sse3", __SSE3__, c1, 0, no_registers) F("ssse3", __SSSE3__, c1, 9, no_registers)                                  \
  F("sse4.1", __SSE4_1__, c1, 19, no_registers) F("sse4.2", __SSE4_2__, c1, 20, no_registers)                          \
  F("pclmul", __PCLMUL__, c1, 1, no_registers) F("popcnt", __POPCNT__, c1, 23, no_registers)                           \
  F("cx16", __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16, c1, 13, no_registers) F("movbe", __MOVBE__, c1, 22, no_registers)     \
  F("sahf", __LAHF_SAHF__, c_amd, 0, no_registers) F("lzcnt", __LZCNT__, c_amd, 5, no_registers)                       \
  F("sse4a", __SSE4A__, c_amd, 6, no_registers) F("tbm", __TBM__, c_amd, 21, no_registers)                             \
  F("bmi", __BMI__, b7, 3, no_registers) F("bmi2", __BMI2__, b7, 8, no_registers)                                      \
  F("gfni", __GFNI__, c7, 8, no_registers)                                                                             \
  F("avx", __AVX__, c1, 28, ymm_registers) F("f16c", __F16C__, c1, 29, ymm_registers)                                  \
  F("fma", __FMA__, c1, 12, ymm_registers) F("avx2", __AVX2__, b7, 5, ymm_registers)                                   \
  F("xop", __XOP__, c_amd, 11, ymm_registers) F("fma4", __FMA4__, c_amd, 16, ymm_registers)                            \
  F("avxvnni", __AVXVNNI__, a7_1, 4, ymm_registers) F("avxifma", __AVXIFMA__, a7_1, 23, ymm_registers)                 \
  F("avxvnniint8", __AVXVNNIINT8__, d7_1, 4, ymm_registers)                                                            \
  F("avxvnniint16", __AVXVNNIINT16__, d7_1, 10, ymm_registers)                                                         \
  F("avxneconvert", __AVXNECONVERT__, d7_1, 5, ymm_registers)                                                          \
  F("avx512f", __AVX512F__, b7, 16, zmm_registers) F("avx512dq", __AVX512DQ__, b7, 17, zmm_registers)                  \
  F("avx512cd", __AVX512CD__, b7, 28, zmm_registers) F("avx512bw", __AVX512BW__, b7, 30, zmm_registers)                \
  F("avx512vl", __AVX512VL__, b7, 31, zmm_registers) F("avx512ifma", __AVX512IFMA__, b7, 21, zmm_registers)            \
  F("avx512vbmi", __AVX512VBMI__, c7, 1, zmm_registers) F("avx512vbmi2", __AVX512VBMI2__, c7, 6, zmm_registers)        \
  F("avx512vnni", __AVX512VNNI__, c7, 11, zmm_registers) F("avx512bitalg", __AVX512BITALG__, c7, 12, zmm_registers)    \
  F("avx512vpopcntdq", __AVX512VPOPCNTDQ__, c7, 14, zmm_registers)                                                     \
  F("avx512bf16", __AVX512BF16__, a7_1, 5, zmm_registers) F("avx512fp16", __AVX512FP16__, d7, 23, zmm_registers)       \
  F("avx10.2", __AVX10_2__, avx10, 2, zmm_registers) F("apxf", __APX_F__, d7_1, 21, egpr_registers)
// clang-format on

namespace cke::tool {

struct machine_feature {
  const char *name, *macro;
};
#define CKE_ROW(name, macro, word, bit, registers) {name, #macro},
inline constexpr machine_feature machine_features[] = {CKE_MACHINE_FEATURES(CKE_ROW)};
#undef CKE_ROW
static_assert(std::size(machine_features) <= 64);

// g++ leaves sse4a to intrinsics, which nothing here has, so that its code for AMD's cpus runs on Intel's, too.
constexpr bool is_used(std::string_view feature, bool by_clang) { return feature != "sse4a" || by_clang; }

// What a cpu tells.
struct cpu_words {
  std::uint32_t c1{};               // CPUID 1: ecx
  std::uint32_t b7{}, c7{}, d7{};   // CPUID 7, 0: ebx, ecx, edx
  std::uint32_t a7_1{}, d7_1{};     // CPUID 7, 1: eax, edx
  std::uint32_t c_amd{};            // CPUID 0x80000001: ecx
  std::uint32_t avx10{};            // bit v: it has version v of AVX10
  std::uint64_t saved_registers{};  // XCR0: those that the system saves
};
inline constexpr std::uint64_t no_registers = 0, ymm_registers = 0x6, zmm_registers = 0xe6, egpr_registers = 1 << 19;

// Bit n: row n of the list. Static, because a program that checks its machine must not run another file's copy of this,
// which may be compiled for a machine that has more.
static constexpr std::uint64_t features_in(const cpu_words& w) {
  std::uint64_t all = 0;
  unsigned row = 0;
#define CKE_HAS(name, macro, word, bit, registers) \
  all |= std::uint64_t{(w.word >> bit & 1) != 0 && (w.saved_registers & registers) == registers} << row++;
  CKE_MACHINE_FEATURES(CKE_HAS)
#undef CKE_HAS
  return all;
}

// The same of this cpu; of one that is no x86-64, all.
std::uint64_t features_of_cpu();

}  // namespace cke::tool

// What this build's code may use: machine_needs.cpp.
extern const std::uint64_t cke_machine_needs;

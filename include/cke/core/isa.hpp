// SPDX-License-Identifier: MIT
// isa.hpp: instruction sets as chains of inheritance; no other file names xsimd's arch tags.
// Kernels load unaligned everywhere: it is as fast, and xsimd checks aligned loads unless NDEBUG is set.
#pragma once

// gcc 12's own AVX-512 headers read variables that they leave undefined on purpose.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#ifdef __CUDACC__
#define XSIMD_WITH_EMULATED 0  // else xsimd hands nvcc's host compiler a builtin without its arguments
#elif defined(__arm__) && !defined(__ARM_NEON)
#define XSIMD_WITH_EMULATED 1  // a Cortex-M: else xsimd leaves out functions that kernels name
#endif
#ifdef __wasm_simd128__  // xsimd asks for emscripten, but its file for wasm needs only clang
#include <xsimd/config/xsimd_config.hpp>
#undef XSIMD_NO_SUPPORTED_ARCHITECTURE
#undef XSIMD_WITH_WASM
#define XSIMD_WITH_WASM 1
#endif
#ifdef CKE_COMPILED_KERNELS_ONLY
#include "xsimd_names.hpp"
#else
#include <xsimd/xsimd.hpp>
#endif
#pragma GCC diagnostic pop

#include "types.hpp"

// Instruction sets that the compiler flags permit.
#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define CKE_HAS_AVX2
#endif
#if defined(CKE_HAS_AVX2) && defined(__AVXVNNI__)
#define CKE_HAS_AVX2_VNNI
#endif
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define CKE_HAS_AVX512
#endif
#if defined(CKE_HAS_AVX512) && defined(__AVX512VNNI__) && defined(__AVX512BF16__) && defined(__AVX512VBMI__) && \
    defined(__AVX512VBMI2__) && defined(__GFNI__)
#define CKE_HAS_AVX512_VNNI
#endif
#if defined(CKE_HAS_AVX512_VNNI) && defined(__AVX512FP16__)
#define CKE_HAS_AVX512_FP16
#endif
#if defined(__aarch64__) && defined(__ARM_NEON)
#define CKE_HAS_NEON
#endif
#if defined(__wasm_simd128__)
#define CKE_HAS_WASM
#endif

namespace cke::isa {

// If an isa lacks a kernel, its base is searched. `lanes` is the number of f32 in a register, and of the rows that a
// packed weight group interleaves. `registers` is the number of vector registers, which bounds the size of a tile.
struct scalar {
  using base = void;
  static constexpr u32 lanes = 8, registers = 16;
  static constexpr std::string_view name = "scalar";
};
struct avx2 : scalar {
  using base = scalar;
  static constexpr std::string_view name = "avx2";
};
struct avx2_vnni : avx2 {  // CPUs without AVX-512: Alder Lake and later, Sierra Forest
  using base = avx2;
  static constexpr std::string_view name = "avx2_vnni";
};
struct avx512 : avx2 {
  using base = avx2;
  static constexpr u32 lanes = 16, registers = 32;
  static constexpr std::string_view name = "avx512";
};
struct avx512_vnni : avx512 {  // includes bf16 and GFNI: Zen 4 and later
  using base = avx512;
  static constexpr std::string_view name = "avx512_vnni";
};
struct avx512_fp16 : avx512_vnni {  // Sapphire Rapids and later; bf16 dots are slow
  using base = avx512_vnni;
  static constexpr std::string_view name = "avx512_fp16";
};
struct neon : scalar {  // arm64, little-endian; uses the dot product instructions if the compiler may
  using base = scalar;
  static constexpr u32 lanes = 4, registers = 32;
  static constexpr std::string_view name = "neon";
};
struct wasm : scalar {  // WebAssembly of 128 bits; the same bits with and without relaxed dots, on any CPU
  using base = scalar;
  static constexpr u32 lanes = 4;
  static constexpr std::string_view name = "wasm";
};

#if defined(CKE_HAS_AVX512_FP16)
using native = avx512_fp16;
#elif defined(CKE_HAS_AVX512_VNNI)
using native = avx512_vnni;
#elif defined(CKE_HAS_AVX512)
using native = avx512;
#elif defined(CKE_HAS_AVX2_VNNI)
using native = avx2_vnni;
#elif defined(CKE_HAS_AVX2)
using native = avx2;
#elif defined(CKE_HAS_NEON)
using native = neon;
#elif defined(CKE_HAS_WASM)
using native = wasm;
#else
using native = scalar;
#endif

// The xsimd arch of a tag; defined only for tags that the compiler flags permit.
template <class Isa> struct xsimd_arch;
#if defined(CKE_HAS_AVX2)
template <> struct xsimd_arch<avx2> {
  using type = xsimd::fma3<xsimd::avx2>;
};
#endif
#if defined(CKE_HAS_AVX2_VNNI)  // xsimd's own avxvnni arch has no operations, only types
template <> struct xsimd_arch<avx2_vnni> : xsimd_arch<avx2> {};
#endif
#if defined(CKE_HAS_AVX512)
template <> struct xsimd_arch<avx512> {
  using type = xsimd::avx512bw;
};
#endif
#if defined(CKE_HAS_AVX512_VNNI)
template <> struct xsimd_arch<avx512_vnni> {
  using type = xsimd::avx512vnni<xsimd::avx512vbmi2>;
};
#endif
#if defined(CKE_HAS_AVX512_FP16)
template <> struct xsimd_arch<avx512_fp16> : xsimd_arch<avx512_vnni> {};
#endif
#if defined(CKE_HAS_NEON)
template <> struct xsimd_arch<neon> {
  using type = xsimd::neon64;
};
#endif
#if defined(CKE_HAS_WASM)
template <> struct xsimd_arch<wasm> {
  using type = xsimd::wasm;
};
#endif

template <class Isa, class T> using batch = xsimd::batch<T, typename xsimd_arch<Isa>::type>;

}  // namespace cke::isa

namespace cke::simd {

// The operations that xsimd lacks, on raw registers; each simd_*.hpp specialises it. simd.hpp wraps them for batches.
template <class Isa> struct primitives;

}  // namespace cke::simd

// SPDX-License-Identifier: MIT
// isa.hpp: instruction sets as one inheritance chain; the only file that spells xsimd's arch tags.
// Kernels load unaligned everywhere: xsimd checks aligned loads unless NDEBUG is set, hardware does not care.
#pragma once

// gcc 12's own AVX-512 headers read variables that they leave undefined on purpose.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#ifdef __CUDACC__
#define XSIMD_WITH_EMULATED 0  // keeps xsimd from a builtin that nvcc hands to the host's compiler without its pack
#endif
#include <xsimd/xsimd.hpp>
#pragma GCC diagnostic pop

#include "types.hpp"

namespace cke::isa {

// A kernel that an isa lacks is looked up in its base. `lanes`: f32 in a register, and so the
// rows that a packed weight group interleaves.
struct scalar {
  using base = void;
  static constexpr u32 lanes = 8;
  static constexpr std::string_view name = "scalar";
};
struct avx2 : scalar {
  using base = scalar;
  static constexpr std::string_view name = "avx2";
};
struct avx512 : avx2 {
  using base = avx2;
  static constexpr u32 lanes = 16;
  static constexpr std::string_view name = "avx512";
};
struct avx512_vnni : avx512 {  // with bf16: Zen 4, Sapphire Rapids and later
  using base = avx512;
  static constexpr std::string_view name = "avx512_vnni";
};

#if defined(__AVX512VNNI__) && defined(__AVX512BF16__) && defined(__AVX512VBMI2__)
using native = avx512_vnni;
#elif defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
using native = avx512;
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
using native = avx2;
#else
using native = scalar;
#endif

// xsimd's arch of a tag. Only tags that the compiler was allowed to use have one.
template <class Isa> struct xsimd_arch;
#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
template <> struct xsimd_arch<avx2> { using type = xsimd::fma3<xsimd::avx2>; };
#endif
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
template <> struct xsimd_arch<avx512> { using type = xsimd::avx512bw; };
#endif
#if defined(__AVX512VNNI__) && defined(__AVX512BF16__) && defined(__AVX512VBMI2__)
template <> struct xsimd_arch<avx512_vnni> { using type = xsimd::avx512vnni<xsimd::avx512vbmi2>; };
#endif

template <class Isa, class T> using batch = xsimd::batch<T, typename xsimd_arch<Isa>::type>;

}  // namespace cke::isa

// SPDX-License-Identifier: MIT
// xsimd_names.hpp: the names of xsimd that kernels use, declared and never defined, for units that take all kernels
// from the compiled part: reading xsimd and the compiler's intrinsics would add a sixth to such a compile.
#pragma once

#ifdef CKE_COMPILED_KERNELS_ONLY
namespace xsimd {

template <class T, class Arch> class batch;
struct avx2;
struct avx512bw;
struct avx512vbmi2;
struct neon64;
template <class Arch> struct fma3;
template <class Arch> struct avx512vnni;

template <class... T> auto abs(T...);
template <class... T> auto any(T...);
template <class... T> auto batch_bool_cast(T...);
template <class... T> auto erf(T...);
template <class... T> auto fma(T...);
template <class... T> auto fms(T...);
template <class... T> auto isnan(T...);
template <class... T> auto max(T...);
template <class... T> auto min(T...);
template <class... T> auto nearbyint(T...);
template <class... T> auto nearbyint_as_int(T...);
template <class... T> auto select(T...);
template <class... T> auto tanh(T...);
template <class... T> auto to_float(T...);
template <class... T> auto to_int(T...);
template <class... T> auto transpose(T...);

}  // namespace xsimd
#endif

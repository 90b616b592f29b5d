// SPDX-License-Identifier: MIT
// math.hpp: what a net computes with: registers of an instruction set, frames of whole registers, matrices.
#pragma once

#include <algorithm>

#include "../core/exp.hpp"
#include "../core/simd.hpp"

namespace cke::net {

// One register of f32 and its functions. The scalar one is a float, with the same bits on every machine.
template <class Isa> struct math {
  using reg = simd::vf32<Isa>;
  static constexpr u32 lanes = Isa::lanes;

  CKE_INLINE static reg load(const float* p) { return reg::load_unaligned(p); }
  CKE_INLINE static void store(reg v, float* p) { v.store_unaligned(p); }
  CKE_INLINE static reg all(float x) { return reg(x); }
  CKE_INLINE static reg fma(reg a, reg b, reg c) { return xsimd::fma(a, b, c); }
  CKE_INLINE static reg max(reg a, reg b) { return xsimd::max(a, b); }
  CKE_INLINE static reg min(reg a, reg b) { return xsimd::min(a, b); }
  CKE_INLINE static reg relu(reg x) { return max(x, all(0.f)); }
  CKE_INLINE static reg tanh(reg x) { return simd::tanh<Isa>(x); }
  CKE_INLINE static reg sigmoid(reg x) {
    const reg one(1.f);
    return simd::quotient<Isa>(one, one + simd::exp<Isa>(-x));
  }
};
template <> struct math<isa::scalar> {
  using reg = float;
  static constexpr u32 lanes = 1;

  CKE_INLINE static reg load(const float* p) { return *p; }
  CKE_INLINE static void store(reg v, float* p) { *p = v; }
  CKE_INLINE static reg all(float x) { return x; }
  CKE_INLINE static reg fma(reg a, reg b, reg c) { return a * b + c; }
  CKE_INLINE static reg max(reg a, reg b) { return a < b ? b : a; }
  CKE_INLINE static reg min(reg a, reg b) { return b < a ? b : a; }
  CKE_INLINE static reg relu(reg x) { return max(x, all(0.f)); }
  CKE_INLINE static reg tanh(reg x) { return 1.f - 2.f / (1.f + rounded_exp(x + x)); }
  CKE_INLINE static reg sigmoid(reg x) { return 1.f / (1.f + rounded_exp(-x)); }
};

// Groups of N floats, each in whole registers. The numbers that pad a group are finite, and no other depends on them.
template <class Isa, u32 N, u32 Groups = 1> struct frame {
  static constexpr u32 padded = static_cast<u32>(align_up(N, math<Isa>::lanes)), size = Groups * padded;
  alignas(4 * math<Isa>::lanes) float v[size];

  constexpr void pack(const float* from) {
    for (u32 i = 0; i < Groups * N; ++i) v[i / N * padded + i % N] = from[i];
  }
  CKE_INLINE typename math<Isa>::reg at(u32 i, u32 group = 0) const { return math<Isa>::load(v + group * padded + i); }
  CKE_INLINE void set(u32 i, typename math<Isa>::reg x) { math<Isa>::store(x, v + i); }
  // f(i) for the first number of each register of a group.
  template <class F> CKE_INLINE static void each(F&& f) {
    for (u32 i = 0; i < padded; i += math<Isa>::lanes) f(i);
  }
};

// A matrix of Groups * Rows rows, column by column: the rows of a column are a frame.
template <class Isa, u32 Rows, u32 Cols, u32 Groups = 1> struct matrix {
  using column = frame<Isa, Rows, Groups>;
  column columns[Cols];

  // number(row, column), rows of all groups counted on.
  template <class F> constexpr void pack(F&& number) {
    for (u32 r = 0; r < Groups * Rows; ++r)
      for (u32 c = 0; c < Cols; ++c) columns[c].v[r / Rows * column::padded + r % Rows] = number(r, c);
  }
  constexpr void pack(const float* rows) {
    pack([rows](u32 r, u32 c) { return rows[r * Cols + c]; });
  }

  // y = from + this * x. y may be from. A row's order of additions is fixed by the shape and the instruction set.
  CKE_INLINE void multiply(const float* x, const column& from, column& y) const {
    constexpr u32 all = column::size / math<Isa>::lanes, tile = 8, whole = all / tile * tile;
    for (u32 i = 0; i < whole; i += tile) multiply_tile<tile>(i, x, from, y);
    if constexpr (all > whole) multiply_tile<all - whole>(whole, x, from, y);
  }

 private:
  // Count registers from `first` on. Few of them are summed in several chains, so that at least 8 additions are under
  // way at any time: an addition takes 4 cycles, and two begin in each.
  template <u32 Count> CKE_INLINE void multiply_tile(u32 first, const float* x, const column& from, column& y) const {
    using m = math<Isa>;
    constexpr u32 chains = std::min(Cols, Count >= 8 ? 1u : Count >= 4 ? 2u : 4u), whole = Cols / chains * chains;
    typename m::reg sums[chains][Count];
#pragma GCC unroll 8
    for (u32 i = 0; i < Count; ++i) sums[0][i] = from.at((first + i) * m::lanes);
#pragma GCC unroll 4
    for (u32 k = 1; k < chains; ++k)
#pragma GCC unroll 8
      for (u32 i = 0; i < Count; ++i) sums[k][i] = m::all(0.f);
    const auto add = [&](u32 k, u32 col) {
      const auto xs = m::all(x[col]);
#pragma GCC unroll 8
      for (u32 i = 0; i < Count; ++i) sums[k][i] = m::fma(columns[col].at((first + i) * m::lanes), xs, sums[k][i]);
    };
    for (u32 col = 0; col < whole; col += chains)
#pragma GCC unroll 4
      for (u32 k = 0; k < chains; ++k) add(k, col + k);
#pragma GCC unroll 4
    for (u32 col = whole; col < Cols; ++col) add(col - whole, col);
#pragma GCC unroll 4
    for (u32 k = 1; k < chains; ++k)
#pragma GCC unroll 8
      for (u32 i = 0; i < Count; ++i) sums[0][i] = sums[0][i] + sums[k][i];
#pragma GCC unroll 8
    for (u32 i = 0; i < Count; ++i) y.set((first + i) * m::lanes, sums[0][i]);
  }
};

}  // namespace cke::net

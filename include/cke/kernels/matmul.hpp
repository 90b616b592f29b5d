// SPDX-License-Identifier: MIT
// matmul.hpp: 32 output rows times all tokens, for every weight format, decode and prefill.
#pragma once

#include "matmul_bf16.hpp"

namespace cke::kernels {

// One tile of T tokens, in steps of many k (byte dots). A step's weights stay in registers, two groups of rows where
// there are 32, to share what a token broadcasts; but one group for one token of 512 bits, whose dots broadcast by
// themselves, because codes of five and six bits need the registers. Sums are the function's own, not `out`'s: a store
// through a pointer would make the next dot reload its token, and those of few tokens stay in registers.
template <dtype F, class Isa> struct matmul_tile {
  template <u32 T>
  [[gnu::noinline]] static void run(const std::byte* weights, const std::byte* x, u64 x_stride, u32 cols, float* out) {
    using f = format<F, Isa>;
    using vf32 = simd::vf32<Isa>;
    constexpr u32 groups = unit_rows / Isa::lanes, G = Isa::registers < 32 || (T == 1 && Isa::lanes == 16) ? 1 : 2;
    vf32 sums[T][groups];
#pragma GCC unroll 16
    for (u32 t = 0; t < T; ++t)
#pragma GCC unroll 8
      for (u32 g = 0; g < groups; ++g) sums[t][g] = vf32(0.f);
    const auto one_step = [&](const typename f::view& block, u32 i) __attribute__((always_inline)) {
      // Prefetches all lines of a step at once: steps lie one after the other, so the hardware prefetcher sees one
      // stream. Where hardware reads it as fast alone, a distant step pays only if this one computes for longer than
      // memory takes: with codes to unpack, from four tokens or of two or three bits; with bytes, from as many tokens
      // as a register has floats.
      constexpr u32 bytes = f::block_bytes / (f::block / f::step);
      constexpr bool unpacks = bytes < unit_rows * f::step, narrow = bytes < unit_rows * f::step / 2;
      constexpr bool ahead = simd::needs_prefetch<Isa> || (unpacks ? narrow || T > 2 : T > Isa::lanes / 2);
#pragma GCC unroll 32
      for (u32 at = 0; at < bytes; at += 64)
        if constexpr (ahead) __builtin_prefetch(weights + (i + 8) * bytes + at, 0, simd::prefetch_level<Isa>);
        else __builtin_prefetch(weights + i * bytes + at);
#pragma GCC unroll 8
      for (u32 group = 0; group < groups; group += G) {
        typename f::weights rows[G];
#pragma GCC unroll 4
        for (u32 g = 0; g < G; ++g) rows[g] = f::load(block, i, group + g);
#pragma GCC unroll 2
        for (u32 t = 0; t < T; ++t)
#pragma GCC unroll 4
          for (u32 g = 0; g < G; ++g)
            sums[t][group + g] = f::template dot<T>(sums[t][group + g], rows[g], x, x_stride, t);
      }
      x += f::template x_bytes<T>;
    };
    for (u32 col = 0; col < cols; col += f::block, weights += f::block_bytes) {
      const typename f::view block(weights);
      if constexpr (f::block / f::step > 4)
#pragma GCC unroll 1
        for (u32 i = 0; i < f::block / f::step; ++i) one_step(block, i);
      else
#pragma GCC unroll 4
        for (u32 i = 0; i < f::block / f::step; ++i) one_step(block, i);
    }
#pragma GCC unroll 16
    for (u32 t = 0; t < T; ++t)
#pragma GCC unroll 8
      for (u32 g = 0; g < groups; ++g) sums[t][g].store_unaligned(out + t * unit_rows + g * Isa::lanes);
  }
};

// Steps of one k, against rows of floats: sums stay in registers, for as many row groups as fit.
template <dtype F, class Isa>
  requires(info(F).partner == dtype::f32 && !simd::is_scalar<Isa>)
struct matmul_tile<F, Isa> {
  template <u32 T>
  [[gnu::noinline]] static void run(const std::byte* weights, const std::byte* x, u64 x_stride, u32 cols, float* out) {
    using f = format<F, Isa>;
    using vf32 = simd::vf32<Isa>;
    static_assert(f::block == 1 && f::step == 1);
    constexpr u32 groups = unit_rows / Isa::lanes, G = std::clamp(Isa::registers / 2 / T, 1u, std::min(groups, 4u));
    for (u32 group = 0; group < groups; group += G) {
      vf32 acc[G][T];
#pragma GCC unroll 4
      for (u32 g = 0; g < G; ++g)
#pragma GCC unroll 16
        for (u32 t = 0; t < T; ++t) acc[g][t] = vf32(0.f);
      const std::byte *w = weights, *step = x;
      for (u32 col = 0; col < cols; ++col, w += f::block_bytes, step += f::template x_bytes<T>)
#pragma GCC unroll 4
        for (u32 g = 0; g < G; ++g) {
          const auto rows = f::load(w, 0, group + g);
#pragma GCC unroll 16
          for (u32 t = 0; t < T; ++t) acc[g][t] = f::template dot<T>(acc[g][t], rows, step, x_stride, t);
        }
#pragma GCC unroll 4
      for (u32 g = 0; g < G; ++g)
#pragma GCC unroll 16
        for (u32 t = 0; t < T; ++t) acc[g][t].store_unaligned(out + t * unit_rows + (group + g) * Isa::lanes);
    }
  }
};

// The oracle: dequantised weights times dequantised activations, in plain loops.
template <dtype F> struct matmul_tile<F, isa::scalar> {
  template <u32 T>
  static void run(const std::byte* weights, const std::byte* x, u64 x_stride, u32 cols, float* out) {
    using f = layout<F, isa::scalar>;
    float w[f::block], tokens[T][f::block];
    std::fill_n(out, T * unit_rows, 0.f);
    for (u32 col = 0; col < cols; col += f::block, weights += f::block_bytes) {
      const u32 count = std::min(f::block, cols - col);
      for (u32 t = 0; t < T; ++t)
        for (u32 k = 0; k < count; ++k)
          tokens[t][k] = operand<info(F).partner, isa::scalar>::get(x, x_stride, T, t, col + k);
      for (u32 row = 0; row < unit_rows; ++row) {
        f::unpack(weights, row, w);
        for (u32 t = 0; t < T; ++t)
          for (u32 k = 0; k < count; ++k) out[t * unit_rows + row] += w[k] * tokens[t][k];
      }
    }
  }
};

// out[token][row] = sum over k of weights[row][k] * x[token][k]. Every output is one f32 chain over k in block order:
// the same bits in any tile, decode or prefill.
template <dtype F, class Isa>
  requires packable<F, Isa>
struct matmul {
  using x_operand = operand<info(F).partner, Isa>;
  static constexpr u32 max_tile = x_operand::max_tile;

  // Runs one unit (packed<F, Isa>) over n_tokens of an operand, tile by tile, and hands each tile
  // to e(first_token, count, const float* out [count][32], 64-byte aligned). x_stride: bytes from
  // one token to the next; of a tiled operand always x_operand::token_bytes(cols).
  template <class Epilogue>
  static void unit(const std::byte* weights, const std::byte* x, u64 x_stride, u32 n_tokens, u32 cols, Epilogue&& e) {
    u32 first = 0;
    if constexpr (F == dtype::bf16 && simd::expands_bf16<Isa>)
      while (n_tokens - first > max_tile)
        first += expanded_bf16<Isa>::run(weights, x, x_stride, n_tokens, first, cols, e);
    alignas(64) float out[max_tile * unit_rows];
    while (first < n_tokens) {
      const u32 count = std::min(max_tile, std::bit_floor(n_tokens - first));
      tile<max_tile>(count, weights, x + first * x_stride, x_stride, cols, out);
      e(first, count, static_cast<const float*>(out));
      first += count;
    }
  }

 private:
  template <u32 T>
  static void tile(u32 count, const std::byte* w, const std::byte* x, u64 x_stride, u32 cols, float* out) {
    if constexpr (T > 1)
      if (count < T) return tile<T / 2>(count, w, x, x_stride, cols, out);
    matmul_tile<F, Isa>::template run<T>(w, x, x_stride, cols, out);
  }
};

}  // namespace cke::kernels

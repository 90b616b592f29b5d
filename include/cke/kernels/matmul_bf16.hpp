// SPDX-License-Identifier: MIT
// matmul_bf16.hpp: bf16 weights times tokens: block by block, or made floats once for many tokens.
#pragma once

#include "formats/packed_bf16.hpp"
#include "operand.hpp"

namespace cke::kernels {

template <dtype F, class Isa> struct matmul_tile;  // matmul.hpp has those of the other formats

// Two groups of rows at a time, because one register of bytes makes two of weights. Small and raw blocks give the same
// bits.
template <class Isa>
  requires(!simd::is_scalar<Isa>)
struct matmul_tile<dtype::bf16, Isa> {
  template <u32 T>
  [[gnu::noinline]] static void run(const std::byte* header, const std::byte* x, u64 x_stride, u32 cols, float* out) {
    using f = format<dtype::bf16, Isa>;
    using vf32 = simd::vf32<Isa>;
    constexpr u32 groups = unit_rows / Isa::lanes, G = std::clamp(Isa::registers / 2 / T, 2u, std::min(groups, 4u));
    const bf16_unit<Isa> unit{header};
    const auto table = unit.table();
    for (u32 group = 0; group < groups; group += G) {
      vf32 acc[G][T];
#pragma GCC unroll 4
      for (u32 g = 0; g < G; ++g)
#pragma GCC unroll 16
        for (u32 t = 0; t < T; ++t) acc[g][t] = vf32(0.f);
      const std::byte *w = unit.first_block(), *step = x;
      const auto multiply = [&](auto load) {
#pragma GCC unroll 4
        for (u32 i = 0; i < f::block / f::step; ++i, step += f::template x_bytes<T>)
#pragma GCC unroll 2
          for (u32 g = 0; g < G; g += 2) {
            const auto rows = load(i, group + g);
#pragma GCC unroll 16
            for (u32 t = 0; t < T; ++t) {
              acc[g][t] = f::template dot<T>(acc[g][t], rows.first, step, x_stride, t);
              acc[g + 1][t] = f::template dot<T>(acc[g + 1][t], rows.second, step, x_stride, t);
            }
          }
      };
      u64 raw = 0;
      for (u32 b = 0; b < unit.blocks(cols); ++b, raw >>= 1) {
        if (b % 64 == 0) raw = unit.raw(b / 64);
        unit.prefetch(w);
        if (raw & 1) multiply([&](u32 i, u32 g) { return unit.load_raw(w, i, g); });
        else multiply([&](u32 i, u32 g) { return unit.load_small(w, table, i, g); });
        w += unit.block_bytes(raw & 1);
      }
#pragma GCC unroll 4
      for (u32 g = 0; g < G; ++g)
#pragma GCC unroll 16
        for (u32 t = 0; t < T; ++t) acc[g][t].store_unaligned(out + t * unit_rows + (group + g) * Isa::lanes);
    }
  }
};

// Where activations are floats (simd::expands_bf16), a fifth of a tile's work is to make weights floats too. Here that
// is done once for many tokens, `columns` at a time, which stay in the first cache while the tiles take turns. Sums are
// added in the order of matmul_tile: the same bits.
template <class Isa> class expanded_bf16 {
 public:
  static constexpr u32 max_tokens = 64;

  // As matmul::unit, for the next tokens from `first` on, a multiple of max_tokens. Returns how many.
  template <class Epilogue>
  static u32 run(const std::byte* header, const std::byte* x, u64 x_stride, u32 n_tokens, u32 first, u32 cols,
                 Epilogue&& e) {
    const u32 count = std::min(n_tokens - first, max_tokens);
    alignas(64) float panel[columns * unit_rows];
    alignas(64) float sums[max_tokens * unit_rows];
    std::fill_n(sums, count * unit_rows, 0.f);
    const auto each_tile = [&](auto f) {
      for (u32 at = 0; at < count;) {
        const u32 tokens = tile_at(n_tokens, first + at, max_tile).count;
        f(first + at, tokens, sums + at * unit_rows);
        at += tokens;
      }
    };
    const bf16_unit<Isa> unit{header};
    const std::byte* w = unit.first_block();
    for (u32 col = 0; col < cols; col += columns) {
      const u32 blocks = unit.blocks(std::min(columns, cols - col));
      w = expand(unit, w, col / layout::block, blocks, panel);
      each_tile([&](u32 token, u32 tokens, float* to) {
        const std::byte* from = x + token * x_stride + u64{col} * tokens * sizeof(float);
        multiply<max_tile>(tokens, panel, from, blocks * layout::block / 2, to);
      });
    }
    each_tile(e);
    return count;
  }

 private:
  using layout = kernels::layout<dtype::bf16, Isa>;
  using vf32 = simd::vf32<Isa>;
  using vi32 = simd::vi32<Isa>;
  static constexpr u32 columns = 128, groups = unit_rows / Isa::lanes, max_tile = operand<dtype::bf16, Isa>::max_tile;
  static_assert(max_tokens % max_tile == 0 && groups == 2);

  // Blocks [first, first + blocks), which begin at w, as floats: to [columns / 2][odd, even][32]. Returns their end.
  [[gnu::noinline]] static const std::byte* expand(const bf16_unit<Isa>& unit, const std::byte* w, u32 first,
                                                   u32 blocks, float* to) {
    const vi32 table = unit.table();
    const auto put = [&](vi32 pair, u32 g) __attribute__((always_inline)) {
      simd::as<vf32>(pair & vi32(static_cast<i32>(0xffff0000u))).store_unaligned(to + g * Isa::lanes);
      simd::as<vf32>(pair << 16).store_unaligned(to + unit_rows + g * Isa::lanes);
    };
    for (u32 b = first; b < first + blocks; ++b) {
      const bool raw = unit.is_raw(b);
      unit.prefetch(w);
#pragma GCC unroll 4
      for (u32 i = 0; i < layout::block / 2; ++i, to += 2 * unit_rows)
#pragma GCC unroll 2
        for (u32 g = 0; g < groups; g += 2) {
          const auto rows = raw ? unit.load_raw(w, i, g) : unit.load_small(w, table, i, g);
          put(rows.first, g), put(rows.second, g + 1);
        }
      w += unit.block_bytes(raw);
    }
    return w;
  }

  // tokens: a power of two, at most T
  template <u32 T>
  static void multiply(u32 tokens, const float* panel, const std::byte* x, u32 pairs, float* sums) {
    if constexpr (T > 1)
      if (tokens < T) return multiply<T / 2>(tokens, panel, x, pairs, sums);
    add<T>(panel, x, pairs, sums);
  }
  // sums [T][32] += panel [pairs][odd, even][32] * x [pairs][T][even, odd]
  template <u32 T>
  [[gnu::noinline]] static void add(const float* panel, const std::byte* x, u32 pairs, float* sums) {
    vf32 acc[T][groups];
#pragma GCC unroll 8
    for (u32 t = 0; t < T; ++t)
#pragma GCC unroll 2
      for (u32 g = 0; g < groups; ++g) acc[t][g] = vf32::load_unaligned(sums + t * unit_rows + g * Isa::lanes);
    for (u32 i = 0; i < pairs; ++i, x += 8 * T)
#pragma GCC unroll 2
      for (u32 even = 0; even < 2; ++even, panel += unit_rows) {
        const auto first = vf32::load_unaligned(panel), second = vf32::load_unaligned(panel + Isa::lanes);
#pragma GCC unroll 8
        for (u32 t = 0; t < T; ++t) {
          const auto number = simd::bcast_f32<Isa>(x + 8 * t + 4 * (1 - even));
          acc[t][0] = xsimd::fma(first, number, acc[t][0]);
          acc[t][1] = xsimd::fma(second, number, acc[t][1]);
        }
      }
#pragma GCC unroll 8
    for (u32 t = 0; t < T; ++t)
#pragma GCC unroll 2
      for (u32 g = 0; g < groups; ++g) acc[t][g].store_unaligned(sums + t * unit_rows + g * Isa::lanes);
  }
};

}  // namespace cke::kernels

// SPDX-License-Identifier: MIT
// operand.hpp: activations in the form that a weight format takes.
#pragma once

#include <algorithm>
#include <cmath>

#include "formats/format.hpp"

namespace cke::kernels {

// n tokens are cut into tiles of `max`, and the rest into falling powers of two: 29 = 16 + 8 + 4 + 1.
struct token_tile {
  u32 first, count;
};
constexpr token_tile tile_at(u32 n, u32 token, u32 max) {  // the tile that holds `token`
  u32 first = token / max * max, count = max;
  if (n - first >= max) return {first, count};
  for (;;) {
    count = std::bit_floor(n - first);
    if (token < first + count) return {first, count};
    first += count;
  }
}

// operand<A, Isa>: T tokens of `cols` numbers in the form of weights with info(F).partner == A.
//   max_tile            tokens in a full tile
//   token_bytes(cols)   bytes of one token: tile i starts at tile_at(n, i).first * token_bytes
//   put(base, n, cols, token, col0, count, x)   columns [col0, col0 + count) of one token of n
//   get(tile, stride, T, t, col)                 a number back, of token t of a tile of T
// Parts of a token may come from different threads. col0 is a multiple of `align`, and so is count unless the part ends
// the row; the part that ends the row also writes the zeros of the padding.
template <dtype A, class Isa> struct operand;

// Rows, unchanged: a kernel reads them with any stride.
template <class Isa> struct operand<dtype::f32, Isa> {
  static constexpr u32 max_tile = Isa::registers / 4, align = 1;
  static constexpr u64 token_bytes(u32 cols) { return u64{cols} * 4; }
  static constexpr u64 bytes(u32 tokens, u32 cols) { return tokens * token_bytes(cols); }

  static void put(std::byte* base, u32, u32 cols, u32 token, u32 col0, u32 count, const float* x) {
    std::memcpy(base + token * token_bytes(cols) + u64{col0} * 4, x, u64{count} * 4);
  }
  static float get(const std::byte* tile, u64 stride, u32, u32 t, u32 col) {
    return read<float>(tile + t * stride + u64{col} * 4);
  }
};

// A tile: pairs of bf16 [cols / 2][T], as floats where expands_bf16; cols padded to 8.
template <class Isa> struct operand<dtype::bf16, Isa> {
  using element = std::conditional_t<simd::expands_bf16<Isa>, float, u16>;
  static constexpr u32 max_tile = Isa::registers / 4, align = 2, pair_bytes = 2 * sizeof(element);
  static constexpr u64 token_bytes(u32 cols) { return align_up(cols, 8) / 2 * pair_bytes; }
  static constexpr u64 bytes(u32 tokens, u32 cols) { return tokens * token_bytes(cols); }

  static void put(std::byte* base, u32 n_tokens, u32 cols, u32 token, u32 col0, u32 count, const float* x) {
    const token_tile tile = tile_at(n_tokens, token, max_tile);
    std::byte* out = base + tile.first * token_bytes(cols) + u64{token - tile.first} * pair_bytes;
    const u64 step = u64{tile.count} * pair_bytes;
    for (u32 i = 0; i < count; i += 32, x += 32) {
      element rounded[32] = {};
      round(x, std::min(32u, count - i), rounded);
      for (u32 j = 0; j < std::min(32u, count - i); j += 2) {
        std::memcpy(out + (col0 + i + j) / 2 * step, rounded + j, pair_bytes);
        asm volatile("" : : : "memory");  // gcc would make a scatter of it, which is slower on Zen 5
      }
    }
    if (col0 + count == cols)
      for (u64 pair = ceil_div(cols, 2); pair < align_up(cols, 8) / 2; ++pair)
        std::memset(out + pair * step, 0, pair_bytes);
  }
  static float get(const std::byte* tile, u64, u32 T, u32 t, u32 col) {
    const auto x = read<element>(tile + ((u64{col / 2} * T + t) * 2 + col % 2) * sizeof(element));
    if constexpr (simd::expands_bf16<Isa>) return x;
    else return from_bf16(x);
  }

 private:
  static void round(const float* x, u32 count, element* out) {
    u32 i = 0;
    if constexpr (!simd::is_scalar<Isa>)
      for (; i + Isa::lanes <= count; i += Isa::lanes) {
        const auto part = simd::vf32<Isa>::load_unaligned(x + i);
        if constexpr (simd::expands_bf16<Isa>) simd::round_bf16<Isa>(part).store_unaligned(out + i);
        else simd::store_bf16<Isa>(out + i, part);
      }
    for (; i < count; ++i)
      if constexpr (simd::expands_bf16<Isa>) out[i] = from_bf16(to_bf16(x[i]));
      else out[i] = to_bf16(x[i]);
  }
};

// A tile: blocks of 32 columns, each i8 q[T][32], f32 d[T], i32 start[T], halves[2][T]: 48 bytes a token. start is -128
// * sum(q), halves are -32 * sum of 16 of them: they undo the bias of codes with a scale for 32 and for 16 k. One
// quantisation serves all weight formats; cols are padded to 64, the widest step of a format whose rows need not be
// whole blocks (mxfp4).
template <class Isa> struct operand<dtype::q8_0, Isa> {
  static constexpr u32 max_tile = 16, align = 32;
  static constexpr u64 token_bytes(u32 cols) { return align_up(cols, 64) / 32 * 48; }
  static constexpr u64 bytes(u32 tokens, u32 cols) { return tokens * token_bytes(cols); }

  static void put(std::byte* base, u32 n_tokens, u32 cols, u32 token, u32 col0, u32 count, const float* x) {
    const token_tile tile = tile_at(n_tokens, token, max_tile);
    const u32 T = tile.count, t = token - tile.first;
    std::byte* block = base + tile.first * token_bytes(cols) + u64{col0 / 32} * 48 * T;
    for (u32 i = 0; i < count; i += 32, block += 48 * T) {
      const auto [d, low, high] = quantise(x + i, block + 32 * t);
      write(block + 32 * T + 4 * t, d);
      write(block + 36 * T + 4 * t, 0u - 128u * (low + high));
      write(block + 40 * T + 4 * t, 0u - 32u * low);
      write(block + 44 * T + 4 * t, 0u - 32u * high);
    }
    if (col0 + count == cols && cols % 64 != 0) {
      std::memset(block + 32 * t, 0, 32);
      for (u32 at = 32; at < 48; at += 4) write(block + at * T + 4 * t, 0u);
    }
  }
  static float get(const std::byte* tile, u64, u32 T, u32 t, u32 col) {
    const std::byte* block = tile + u64{col / 32} * 48 * T;
    return read<float>(block + 32 * T + 4 * t) * static_cast<float>(read<i8>(block + 32 * t + col % 32));
  }
  struct quantised {
    float d;
    u32 low, high;  // sums of 16, modulo 2^32: they wrap if x had NaN
  };
  // Rounds 32 numbers to q = round(x * 127 / amax), halves to even; d is amax / 127. |x| is compared as bits, so that a
  // NaN or an infinity becomes the scale and reaches the output.
  CKE_INLINE static quantised quantise(const float* x, std::byte* q) {
    if constexpr (simd::is_scalar<Isa>) {
      u32 sums[2]{};
      u32 top = 0;
      for (u32 i = 0; i < 32; ++i) top = std::max(top, std::bit_cast<u32>(x[i]) & 0x7fffffffu);
      const float amax = std::bit_cast<float>(top), by = inverse(amax);
      for (u32 i = 0; i < 32; ++i) {
        const auto v = static_cast<i8>(std::lrint(x[i] * by));
        write(q + i, v);
        sums[i / 16] += static_cast<u32>(v);
      }
      return {amax / 127.f, sums[0], sums[1]};
    } else {
      using vf32 = simd::vf32<Isa>;
      using vi32 = simd::vi32<Isa>;
      constexpr u32 lanes = Isa::lanes;
      vi32 top(0);
      for (u32 i = 0; i < 32; i += lanes)
        top = xsimd::max(top, simd::as<vi32>(xsimd::abs(vf32::load_unaligned(x + i))));
      const float amax = std::bit_cast<float>(simd::reduce_max<Isa>(top));
      const vf32 by(inverse(amax));
      const auto half = [&](u32 first) __attribute__((always_inline)) {
        vi32 total(0);
#pragma GCC unroll 4
        for (u32 i = first; i < first + 16; i += lanes) {
          const vi32 v = xsimd::nearbyint_as_int(vf32::load_unaligned(x + i) * by);
          simd::store_i8<Isa>(q + i, v);
          total += v;
        }
        return static_cast<u32>(simd::reduce_add<Isa>(total));
      };
      const u32 low = half(0);
      return {amax / 127.f, low, half(16)};
    }
  }

 private:
  static float inverse(float amax) {  // 0 where 127 / amax would overflow: the block becomes zeros
    return amax < 0x1p-119f ? 0.f : 127.f / amax;
  }
};

}  // namespace cke::kernels

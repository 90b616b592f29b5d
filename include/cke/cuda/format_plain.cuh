// SPDX-License-Identifier: MIT
// format_plain.cuh: how device code multiplies f32, f16 and bf16 weights: fma chains, and tensor cores for bf16.
#pragma once

#include "format.cuh"

namespace cke::cuda {

// Number j of the 16 bytes of q.
template <dtype F> CKE_DEVICE float number_of(const dev::quad& q, u32 j) {
  if constexpr (F == dtype::f32) return dev::bits<float>(q.word[j]);
  else {
    const u32 half = q.word[j / 2] >> j % 2 * 16 & 0xffffu;
    return F == dtype::bf16 ? float_of_bf16(half) : float_of_f16(half);
  }
}

// NVIDIA does not specify in which order an mma adds its 16 products and its accumulator, nor how it rounds. But each
// column is a sum of its own, computed by the same circuits. So if bf16 uses tensor cores, every product does, even
// those of one token, with the same runs of k: all launch shapes then give the same bits.
template <dtype F, class Arch> inline constexpr bool by_tensor_cores =
    F == dtype::bf16 && std::is_base_of_v<sm80, Arch>;

// acc += 16 rows x 32 k of weights, times 32 k x 8 tokens. Lane (n, j) = (lane / 4, lane % 4) holds 16 bytes, from k =
// 8 j on, of rows n and n + 8 and of token n; its acc is that of rows n and n + 8, tokens 2 j and 2 j + 1. (An mma's
// lane takes k = 2 j, 2 j + 1, 2 j + 8 and 2 j + 9. Any other k will do if both operands agree, so one 16-byte load
// feeds two mmas.)
CKE_DEVICE void multiply_quads(float (&acc)[4], const dev::quad& upper, const dev::quad& lower,
                               const dev::quad& token) {
  CKE_UNROLL
  for (u32 h = 0; h < 4; h += 2) {
    const u32 a[4]{upper.word[h], lower.word[h], upper.word[h + 1], lower.word[h + 1]},
        b[2]{token.word[h], token.word[h + 1]};
    dev::mma_bf16(acc, a, b);
  }
}

// Formats of plain numbers. An item is 256 k in several tiles, computed in one chain of fmas or mmas; the chains of a
// row are added in order.
template <dtype F> struct plain_format {
  using at = layout_of<F>;
  using sum = float;
  static constexpr u32 columns = 256, factors = 0;
  static constexpr dtype partner = info(F).partner;

  template <u32 T, class Arch, u32 N, class From, class Put, class Keep>
  CKE_DEVICE static void items(From& from, const std::byte* unit, u32 i, u32, u32 cols, const view& x, u32 first,
                               u32 count, Put&& put, Keep&&) {
    static_assert(N == 1);
    if constexpr (by_tensor_cores<F, Arch>) item_by_tensor_cores(from, unit, i, cols, x, first, count, put);
    else item<T>(from, unit, i, cols, x, first, count, put);
  }
  CKE_DEVICE static float number(const std::byte* unit, u32 row, u32 k) {
    const tile_in_memory<F> tile{unit, k / at::tile};
    const u32 from = at::quad(row, k % at::tile) + k % at::of_quad * at::bytes;
    if constexpr (F == dtype::f32) return dev::bits<float>(tile.template body<u32>(from));
    else
      return F == dtype::bf16 ? float_of_bf16(tile.template body<u16>(from))
                              : float_of_f16(tile.template body<u16>(from));
  }

 private:
  template <u32 T, class From, class Put>
  CKE_DEVICE static void item(From& from, const std::byte* unit, u32 i, u32 cols, const view& x, u32 first, u32 count,
                              Put&& put) {
    float sums[T]{};
    const u32 begin = i * columns, end = begin + columns < cols ? begin + columns : cols;
    for (u32 start = begin; start < end; start += at::tile) {
      const auto tile = from.template take<F>(unit, start / at::tile);
      for (u32 k = start; k < start + at::tile && k < end; k += at::of_quad) {
        const dev::quad w = tile.template body<dev::quad>(at::quad(dev::lane(), k - start));
        CKE_UNROLL
        for (u32 t = 0; t < T; ++t) {
          if (t >= count) continue;
          CKE_UNROLL
          for (u32 j = 0; j < at::of_quad; ++j)
            if (k + j < end) sums[t] = dev::fma(number_of<F>(w, j), activation_at(x, first + t, k + j), sums[t]);
        }
      }
      from.done();
    }
    CKE_UNROLL
    for (u32 t = 0; t < T; ++t)
      if (t < count) put(i, dev::lane(), t, sums[t]);
  }
  // A lane loads 16 bytes of four rows and of a token, for every 32 k: the token's for the whole item, and all of a
  // tile, before they are used.
  template <class From, class Put>
  CKE_DEVICE static void item_by_tensor_cores(From& from, const std::byte* unit, u32 i, u32 cols, const view& x,
                                              u32 first, u32 count, Put&& put) {
    static_assert(at::block == at::tile && at::tile == 64);
    const u32 n = dev::lane() / 4, j = dev::lane() % 4, begin = i * columns,
              end = begin + columns < cols ? begin + columns : cols;
    float sums[2][4]{};
    dev::quad token[columns / 32]{};
    CKE_UNROLL
    for (u32 h = 0; h < columns / 32; ++h)
      if (const u32 k = begin + h * 32 + j * at::of_quad; n < count && k < cols)
        token[h] = dev::load(reinterpret_cast<const dev::quad*>(bf16_row_of(x, first + n) + k));
    CKE_UNROLL
    for (u32 t = 0; t < columns / at::tile; ++t) {
      if (begin + t * at::tile >= end) continue;
      const auto tile = from.template take<F>(unit, begin / at::tile + t);
      dev::quad w[2][4];
      CKE_UNROLL
      for (u32 h = 0; h < 2; ++h) {
        const u32 k = h * 32 + j * at::of_quad;
        CKE_UNROLL
        for (u32 r = 0; r < 4; ++r) w[h][r] = tile.template body<dev::quad>(at::quad(n + 8 * r, k));
      }
      CKE_UNROLL
      for (u32 h = 0; h < 2; ++h)
        multiply_quads(sums[0], w[h][0], w[h][1], token[2 * t + h]),
            multiply_quads(sums[1], w[h][2], w[h][3], token[2 * t + h]);
      from.done();  // only now: a copy may overwrite what has been asked for and is not there yet
    }
    CKE_UNROLL
    for (u32 s = 0; s < 8; ++s)
      if (const u32 t = 2 * j + s % 2; t < count) put(i, n + s / 2 * 8, t, sums[s / 4][s % 4]);
  }
  CKE_DEVICE static float activation_at(const view& x, u32 token, u32 k) {
    if constexpr (partner == dtype::bf16) return float_of_bf16(dev::load(bf16_row_of(x, token) + k));
    else return dev::load(row_of(x, token) + k);
  }
};
template <> struct format<dtype::bf16> : plain_format<dtype::bf16> {};
template <> struct format<dtype::f16> : plain_format<dtype::f16> {};
template <> struct format<dtype::f32> : plain_format<dtype::f32> {};

}  // namespace cke::cuda

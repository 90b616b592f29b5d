// SPDX-License-Identifier: MIT
// format.cuh: how device code multiplies each weight format, and the block formats. A lane has a row of a unit of 32.
#pragma once

#include "tile.cuh"

namespace cke::cuda {

// A unit is cut along k into items. A warp multiplies an item by itself; the items of a row are then folded into its
// sum in order of k, in one f32 chain, whichever warp computed them. So every launch shape gives the same bits. A
// format<F> has:
//   columns                         k of an item
//   sum                             type of an item's result for one row and token: i32 or float
//   factors                         floats per row that an item adds to it
//   items<T, Arch, N>(from, unit, begin, end, cols, x, first, count, put, keep)
//                                   multiplies items [begin, end), at most N, of 32 rows, read through `from`, with
//                                   tokens [first, first + count). Calls put(i, row, t, sum) in one lane for each, and
//                                   keep(i, k, f) with factor k of this lane's row
//   fold(acc, sum, f, scale)        returns acc + the item, if there are factors; else it is acc + sum
//   number(unit, row, column)       a weight
template <dtype F> struct format;
template <dtype F> concept has_format = requires { format<F>::columns; };
// The codes of 32 k, two quads, in order of k.
struct codes_of_item {
  dev::quad half[2];
};
CKE_DEVICE codes_of_item codes_at(const view& x, u32 token, u32 item) {
  const auto* const q = reinterpret_cast<const dev::quad*>(codes_of(x, token)) + 2 * item;
  return {{dev::load(q), dev::load(q + 1)}};
}
// A lane's row times T tokens. Sums of 32 products of codes are exact integers, so their order does not matter.
CKE_DEVICE i32 multiply_codes(const codes_of_item& row, const codes_of_item& token) {
  i32 sum = 0;
  CKE_UNROLL
  for (u32 half = 0; half < 2; ++half) CKE_UNROLL
  for (u32 j = 0; j < 4; ++j) sum = dev::dot4(sum, row.half[half].word[j], token.half[half].word[j]);
  return sum;
}
// A tensor core product of 32 rows and 8 tokens, 16 rows at a time. word(row, j): the codes of k = 4 j and 4 j + 16.
struct two_words {
  u32 low, high;
};
CKE_DEVICE two_words tile_of_tokens(const view& x, u32 first, u32 count, u32 item) {
  const u32 token = dev::lane() / 4, j = dev::lane() % 4;
  if (token >= count) return {0, 0};
  const auto* const q = reinterpret_cast<const u32*>(codes_of(x, first + token)) + 8 * item + j;
  return {dev::load(q), dev::load(q + 4)};
}
template <class Word, class Put> CKE_DEVICE void multiply_tile(const two_words& tokens, u32 count, Word&& word,
                                                               Put&& put) {
  const u32 row = dev::lane() / 4, j = dev::lane() % 4;
  const u32 b[2]{tokens.low, tokens.high};
  CKE_UNROLL
  for (u32 top = 0; top < unit_rows; top += 16) {
    const two_words upper = word(top + row, j), lower = word(top + row + 8, j);
    const u32 a[4]{upper.low, lower.low, upper.high, lower.high};
    i32 sums[4]{};
    dev::mma_bytes(sums, a, b);
    CKE_UNROLL
    for (u32 i = 0; i < 4; ++i)
      if (const u32 t = 2 * j + i % 2; t < count) put(top + row + i / 2 * 8, t, sums[i]);
  }
}
// (For one token dp4a takes fewer instructions: docs/cuda.md.)
template <u32 T, class Arch> inline constexpr bool takes_tiles = T == 8 && std::is_base_of_v<sm80, Arch>;

// Formats of codes: an item is 32 k, and a tile holds several.
//   codes(tile, n, row)               codes of item n of a tile
//   word(tile, n, row, j)             those of k = 4 j and of k = 4 j + 16
//   factors_of(tile, n, i, row, f)    sets f to a row's factors; item n of the tile is item i of its unit
template <dtype F> struct code_format {
  using at = layout_of<F>;
  using sum = i32;
  static constexpr u32 columns = 32, of_tile = at::tile / columns;

  template <u32 T, class Arch, u32 N, class From, class Put, class Keep>
  CKE_DEVICE static void items(From& from, const std::byte* unit, u32 begin, u32 end, u32, const view& x, u32 first,
                               u32 count, Put&& put, Keep&& keep) {
    static_assert(N <= of_tile && of_tile % N == 0);
    constexpr bool by_mma = takes_tiles<T, Arch>;
    std::conditional_t<by_mma, two_words, codes_of_item> tokens[N];  // asked for before the tile is waited for
    CKE_UNROLL
    for (u32 n = 0; n < N; ++n) {
      if (begin + n >= end) continue;
      if constexpr (by_mma) tokens[n] = tile_of_tokens(x, first, count, begin + n);
      else if constexpr (T == 1) tokens[n] = codes_at(x, first, begin + n);
    }
    const auto tile = from.template take<F>(unit, begin / of_tile);
    CKE_UNROLL
    for (u32 n = 0; n < N; ++n) {
      const u32 i = begin + n;
      if (i >= end) continue;
      float factors[format<F>::factors];
      format<F>::factors_of(tile, i % of_tile, i, dev::lane(), factors);
      CKE_UNROLL
      for (u32 k = 0; k < format<F>::factors; ++k) keep(i, k, factors[k]);
      if constexpr (by_mma) {
        multiply_tile(
            tokens[n], count, [&](u32 row, u32 j) { return format<F>::word(tile, i % of_tile, row, j); },
            [&](u32 row, u32 t, i32 s) { put(i, row, t, s); });
      } else {
        const codes_of_item codes = format<F>::codes(tile, i % of_tile, dev::lane());
        CKE_UNROLL
        for (u32 t = 0; t < T; ++t)
          if (t < count) put(i, dev::lane(), t, multiply_codes(codes, T == 1 ? tokens[n] : codes_at(x, first + t, i)));
      }
    }
    from.done();
  }
};

template <> struct format<dtype::q8_0> : code_format<dtype::q8_0> {
  static constexpr u32 factors = 1;

  template <class Tile> CKE_DEVICE static codes_of_item codes(const Tile& tile, u32 n, u32 row) {
    return {{tile.template body<dev::quad>(code(n, row, 0)), tile.template body<dev::quad>(code(n, row, 16))}};
  }
  template <class Tile> CKE_DEVICE static two_words word(const Tile& tile, u32 n, u32 row, u32 j) {
    return {tile.template body<u32>(code(n, row, 4 * j)), tile.template body<u32>(code(n, row, 16 + 4 * j))};
  }
  template <class Tile> CKE_DEVICE static void factors_of(const Tile& tile, u32 n, u32, u32 row, float* f) {
    f[0] = scale(tile, n, row);
  }
  CKE_DEVICE static float fold(float acc, i32 s, const float* f, block_scale b) {
    return dev::fma(static_cast<float>(s), f[0] * b.d, acc);
  }
  CKE_DEVICE static float number(const std::byte* unit, u32 row, u32 k) {
    const tile_in_memory<dtype::q8_0> tile{unit, k / at::tile};
    const u32 n = k % at::tile / 32;
    return scale(tile, n, row) * static_cast<float>(static_cast<i8>(tile.body<u8>(code(n, row, k % 32))));
  }

 private:
  CKE_DEVICE static u32 code(u32 n, u32 row, u32 k) { return n / 2 * at::block_bytes + at::code(row, n % 2 * 32 + k); }
  template <class Tile> CKE_DEVICE static float scale(const Tile& tile, u32 n, u32 row) {
    return float_of_f16(tile.template body<u16>(n / 2 * at::block_bytes + at::scales + (n % 2 * unit_rows + row) * 2));
  }
};

template <> struct format<dtype::q4_k> : code_format<dtype::q4_k> {
  static constexpr u32 factors = 2;

  template <class Tile> CKE_DEVICE static codes_of_item codes(const Tile& tile, u32 n, u32 row) {
    const dev::quad both = tile.template body<dev::quad>(codes_at(n, row));
    codes_of_item c;
    CKE_UNROLL
    for (u32 j = 0; j < 4; ++j) {
      c.half[0].word[j] = both.word[j] & 0x0f0f0f0fu;
      c.half[1].word[j] = both.word[j] >> 4 & 0x0f0f0f0fu;
    }
    return c;
  }
  template <class Tile> CKE_DEVICE static two_words word(const Tile& tile, u32 n, u32 row, u32 j) {
    const u32 both = tile.template body<u32>(codes_at(n, row) + 4 * j);
    return {both & 0x0f0f0f0fu, both >> 4 & 0x0f0f0f0fu};
  }
  template <class Tile> CKE_DEVICE static void factors_of(const Tile& tile, u32, u32 i, u32 row, float* f) {
    const pair p = scales(tile, i % 8, row);
    f[0] = p.scale, f[1] = p.least * 0x1p-7f;
  }
  CKE_DEVICE static float fold(float acc, i32 s, const float* f, block_scale b) {
    const float least = f[1] * static_cast<float>(-128 * b.sum);
    return dev::fma(dev::fma(static_cast<float>(s), f[0], least), b.d, acc);
  }
  CKE_DEVICE static float number(const std::byte* unit, u32 row, u32 k) {
    const tile_in_memory<dtype::q4_k> tile{unit, k / at::tile};
    const u32 j = k % 32, code = u32{tile.body<u8>(codes_at(k % at::tile / 32, row) + j % 16)} >> j / 16 * 4 & 15u;
    const pair p = scales(tile, k % 256 / 32, row);
    return p.scale * static_cast<float>(code) - p.least;
  }

 private:
  struct pair {
    float scale, least;
  };
  CKE_DEVICE static u32 codes_at(u32 n, u32 row) { return (n * unit_rows + row) * 16; }
  // The scales of 32 k within a block of 256.
  template <class Tile> CKE_DEVICE static pair scales(const Tile& tile, u32 s, u32 row) {
    const u32 low = tile.template head<u8>(s * unit_rows + row);
    const u32 top = u32{tile.template head<u8>(at::high + s / 2 * unit_rows + row)} >> s % 2 * 4 & 15u;
    return {float_of_f16(tile.template head<u16>(at::d + 2 * row)) * static_cast<float>((low & 15u) | (top & 3u) << 4),
            float_of_f16(tile.template head<u16>(at::dmin + 2 * row)) * static_cast<float>(low >> 4 | top >> 2 << 4)};
  }
};

}  // namespace cke::cuda

// SPDX-License-Identifier: MIT
// format.cuh: how device code multiplies each weight format. A lane is a row of a unit of 32.
#pragma once

#include "kernel.cuh"

namespace cke::cuda {

// A unit is cut along k into items, each of which a warp multiplies by itself; the items of a row are then folded into
// its sum in order of k, one f32 chain, whoever has multiplied them. So every shape of launch gives the same bits.
//   columns                             k of an item
//   sum                                 what an item leaves of a row and a token: i32 or float
//   factors                             floats that it leaves of a row
//   item<T, Arch>(unit, i, cols, x, first, count, put, f)  multiplies item i of 32 rows with tokens [first, first + count):
//                                       put(row, t, sum) in some lane for each; f are those of this lane's row
//   fold(acc, sum, f, x, token, i)      acc + the item
//   number(unit, row, column)           a weight
template <dtype F> struct format;
template <dtype F>
concept has_format = requires { format<F>::columns; };
template <dtype F> struct layout_of;  // where a unit keeps what: layout.cuh packs it

// Blocks of 64 k: codes [2][half of 32][row][16 bytes], then f16 scales [2][row].
template <> struct layout_of<dtype::q8_0> {
  static constexpr u32 block = 64, scales = unit_rows * block, block_bytes = scales + 2 * unit_rows * 2;
  static constexpr u32 code(u32 row, u32 k) { return ((k / 16) * unit_rows + row) * 16 + k % 16; }
};
// Blocks of 8 or 4 k: [row][16 bytes].
template <dtype F> struct plain_layout {
  static constexpr u32 bytes = info(F).bytes, block = 16 / bytes, block_bytes = unit_rows * 16;
};
template <> struct layout_of<dtype::bf16> : plain_layout<dtype::bf16> {};
template <> struct layout_of<dtype::f16> : plain_layout<dtype::f16> {};
template <> struct layout_of<dtype::f32> : plain_layout<dtype::f32> {};
// Blocks of 256 k: kernels::k_scales, then nibbles [8][row][16 bytes].
template <> struct layout_of<dtype::q4_k> {
  static constexpr u32 block = 256, high = 8 * unit_rows, d = high + 4 * unit_rows, dmin = d + 2 * unit_rows,
                       codes = dmin + 2 * unit_rows, block_bytes = codes + 8 * unit_rows * 16;
};

template <dtype F> CKE_CONSTEXPR u64 unit_bytes(u32 cols) {
  return u64{(cols + layout_of<F>::block - 1) / layout_of<F>::block} * layout_of<F>::block_bytes;
}
CKE_DEVICE u32 half_at(const std::byte* p) { return dev::load(reinterpret_cast<const u16*>(p)); }
CKE_DEVICE u32 byte_at(const std::byte* p) { return dev::load(reinterpret_cast<const u8*>(p)); }

// Sums of 32 codes times 32 codes are exact integers, whoever adds them up.
// A lane's row: codes are two quads, k in order.
template <u32 T, class Put>
CKE_DEVICE void multiply_row(const dev::quad (&codes)[2], const view& x, u32 first, u32 count, u32 item, Put&& put) {
  CKE_UNROLL
  for (u32 t = 0; t < T; ++t) {
    if (t >= count) continue;
    const auto* const q = reinterpret_cast<const dev::quad*>(codes_of(x, first + t)) + 2 * item;
    i32 sum = 0;
    CKE_UNROLL
    for (u32 half = 0; half < 2; ++half) {
      const dev::quad other = dev::load(q + half);
      CKE_UNROLL
      for (u32 j = 0; j < 4; ++j) sum = dev::dot4(sum, codes[half].word[j], other.word[j]);
    }
    put(dev::lane(), t, sum);
  }
}
// 32 rows and 8 tokens, 16 rows at once: word(row, j) are the codes of k = 4 j, and of 16 more, of a row.
struct two_words {
  u32 low, high;
};
template <class Word, class Put> CKE_DEVICE void multiply_tile(const view& x, u32 first, u32 count, u32 item, Word&& word, Put&& put) {
  const u32 row = dev::lane() / 4, j = dev::lane() % 4;  // of the fragments; row is also the token of b
  u32 b[2]{};
  if (row < count) {
    const auto* const q = reinterpret_cast<const u32*>(codes_of(x, first + row)) + 8 * item + j;
    b[0] = dev::load(q), b[1] = dev::load(q + 4);
  }
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
template <u32 T, class Arch> inline constexpr bool takes_tiles = T == 8 && std::is_base_of_v<sm80, Arch>;

template <> struct format<dtype::q8_0> {
  using at = layout_of<dtype::q8_0>;
  using sum = i32;
  static constexpr u32 columns = 32, factors = 1;

  template <u32 T, class Arch, class Put>
  CKE_DEVICE static void item(const std::byte* unit, u32 i, u32, const view& x, u32 first, u32 count, Put&& put, float* f) {
    const std::byte* const block = unit + u64{i / 2} * at::block_bytes;
    const auto code = [&](u32 row, u32 k) { return block + at::code(row, i % 2 * 32 + k); };
    f[0] = scale(block, i % 2, dev::lane());
    if constexpr (takes_tiles<T, Arch>) {
      const auto word = [&](u32 row, u32 j) {
        return two_words{dev::stream(reinterpret_cast<const u32*>(code(row, 4 * j))), dev::stream(reinterpret_cast<const u32*>(code(row, 16 + 4 * j)))};
      };
      multiply_tile(x, first, count, i, word, put);
    } else {
      const dev::quad codes[2]{dev::stream(reinterpret_cast<const dev::quad*>(code(dev::lane(), 0))),
                               dev::stream(reinterpret_cast<const dev::quad*>(code(dev::lane(), 16)))};
      multiply_row<T>(codes, x, first, count, i, put);
    }
  }
  CKE_DEVICE static float fold(float acc, i32 s, const float* f, const view& x, u32 token, u32 i) {
    return dev::fma(static_cast<float>(s), f[0] * dev::load(&scales_of(x, token)[i].d), acc);
  }
  CKE_DEVICE static float number(const std::byte* unit, u32 row, u32 k) {
    const std::byte* const block = unit + u64{k / 64} * at::block_bytes;
    return scale(block, k % 64 / 32, row) * static_cast<float>(static_cast<i8>(byte_at(block + at::code(row, k % 64))));
  }

 private:
  CKE_DEVICE static float scale(const std::byte* block, u32 which, u32 row) {
    return float_of_f16(half_at(block + at::scales + (which * unit_rows + row) * 2));
  }
};

template <> struct format<dtype::q4_k> {
  using at = layout_of<dtype::q4_k>;
  using sum = i32;
  static constexpr u32 columns = 32, factors = 2;

  template <u32 T, class Arch, class Put>
  CKE_DEVICE static void item(const std::byte* unit, u32 i, u32, const view& x, u32 first, u32 count, Put&& put, float* f) {
    const std::byte* const block = unit + u64{i / 8} * at::block_bytes;
    const auto codes_of_row = [&](u32 row) { return block + at::codes + (i % 8 * unit_rows + row) * 16; };
    const pair p = scales(block, i % 8, dev::lane());
    f[0] = p.scale, f[1] = p.least * 0x1p-7f;
    if constexpr (takes_tiles<T, Arch>) {
      const auto word = [&](u32 row, u32 j) {
        const u32 both = dev::stream(reinterpret_cast<const u32*>(codes_of_row(row)) + j);
        return two_words{both & 0x0f0f0f0fu, both >> 4 & 0x0f0f0f0fu};
      };
      multiply_tile(x, first, count, i, word, put);
    } else {
      const dev::quad both = dev::stream(reinterpret_cast<const dev::quad*>(codes_of_row(dev::lane())));
      dev::quad codes[2];
      CKE_UNROLL
      for (u32 j = 0; j < 4; ++j) {
        codes[0].word[j] = both.word[j] & 0x0f0f0f0fu;
        codes[1].word[j] = both.word[j] >> 4 & 0x0f0f0f0fu;
      }
      multiply_row<T>(codes, x, first, count, i, put);
    }
  }
  CKE_DEVICE static float fold(float acc, i32 s, const float* f, const view& x, u32 token, u32 i) {
    const block_scale b = dev::load(scales_of(x, token) + i);
    const float least = f[1] * static_cast<float>(-128 * b.sum);
    return dev::fma(dev::fma(static_cast<float>(s), f[0], least), b.d, acc);
  }
  CKE_DEVICE static float number(const std::byte* unit, u32 row, u32 k) {
    const std::byte* const block = unit + u64{k / 256} * at::block_bytes;
    const u32 s = k % 256 / 32, j = k % 32;
    const u32 code = byte_at(block + at::codes + (s * unit_rows + row) * 16 + j % 16) >> j / 16 * 4 & 15u;
    const pair p = scales(block, s, row);
    return p.scale * static_cast<float>(code) - p.least;
  }

 private:
  struct pair {
    float scale, least;
  };
  CKE_DEVICE static pair scales(const std::byte* block, u32 s, u32 row) {
    const u32 low = byte_at(block + s * unit_rows + row), top = byte_at(block + at::high + s / 2 * unit_rows + row) >> s % 2 * 4 & 15u;
    return {float_of_f16(half_at(block + at::d + 2 * row)) * static_cast<float>((low & 15u) | (top & 3u) << 4),
            float_of_f16(half_at(block + at::dmin + 2 * row)) * static_cast<float>(low >> 4 | top >> 2 << 4)};
  }
};

// Formats of plain numbers: an item is 256 k, one chain of fused multiply-adds; the chains of a row are added up in order.
template <dtype F> struct plain_format {
  using at = layout_of<F>;
  using sum = float;
  static constexpr u32 columns = 256, factors = 0;
  static constexpr dtype partner = info(F).partner;

  template <u32 T, class, class Put>
  CKE_DEVICE static void item(const std::byte* unit, u32 i, u32 cols, const view& x, u32 first, u32 count, Put&& put, float*) {
    float sums[T]{};
    const u32 begin = i * columns, end = begin + columns < cols ? begin + columns : cols;
    for (u32 k = begin; k < end; k += at::block) {
      const dev::quad w = dev::stream(reinterpret_cast<const dev::quad*>(unit + u64{k / at::block} * at::block_bytes) + dev::lane());
CKE_UNROLL
      for (u32 t = 0; t < T; ++t) {
        if (t >= count) continue;
CKE_UNROLL
        for (u32 j = 0; j < at::block; ++j)
          if (k + j < end) sums[t] = dev::fma(of(w, j), activation_at(x, first + t, k + j), sums[t]);
      }
    }
    CKE_UNROLL
    for (u32 t = 0; t < T; ++t)
      if (t < count) put(dev::lane(), t, sums[t]);
  }
  CKE_DEVICE static float fold(float acc, float s, const float*, const view&, u32, u32) { return acc + s; }
  CKE_DEVICE static float number(const std::byte* unit, u32 row, u32 k) {
    const std::byte* const p = unit + u64{k / at::block} * at::block_bytes + row * 16 + k % at::block * at::bytes;
    if constexpr (F == dtype::f32) return dev::load(reinterpret_cast<const float*>(p));
    else return F == dtype::bf16 ? float_of_bf16(half_at(p)) : float_of_f16(half_at(p));
  }

 private:
  CKE_DEVICE static float of(const dev::quad& w, u32 j) {
    if constexpr (F == dtype::f32) return dev::bits<float>(w.word[j]);
    else {
      const u32 half = w.word[j / 2] >> j % 2 * 16 & 0xffffu;
      return F == dtype::bf16 ? float_of_bf16(half) : float_of_f16(half);
    }
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

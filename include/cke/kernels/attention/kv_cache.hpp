// SPDX-License-Identifier: MIT
// kv_cache.hpp: the layout of the keys and values of one kv head.
#pragma once

#include <algorithm>

#include "../../core/dtype.hpp"
#include "../../core/params.hpp"
#include "../../core/simd.hpp"
#include "../operand.hpp"
#include "kv_blocks.hpp"

namespace cke::kernels {

// The formats that a cache can hold.
constexpr bool is_cache_format(dtype t) {
  return t == dtype::f32 || t == dtype::f16 || t == dtype::bf16 || t == dtype::q8_0;
}

// Blocks of key_block positions, each K and then V: a token reads one stream. Lanes are positions in K, so that a
// register of scores needs no horizontal sum, and dims in V. One lane of a dot product takes a pair of 16-bit or 8-bit
// numbers.
//           K of a block        V of a block
// f32, f16  [d][128]            [128][width]
// bf16      [d / 2][128][2]     [64][width][2]
// q8_0      [width / 2][128][2] [64][width][2], then in both the scales: f16 [width / 32][128]
// d is even; width is d rounded up to a multiple of 32. Only q8_0 writes the padding; no reader sees it.
template <dtype KV, class Isa> struct kv_cache {
  static_assert(is_cache_format(KV), "cke: kv_cache: keys and values are f32, f16, bf16 or q8_0");
  static constexpr bool scaled = KV == dtype::q8_0;
  using element = std::conditional_t<KV == dtype::f32, float, std::conditional_t<scaled, i8, u16>>;
  static constexpr u32 pair = KV == dtype::bf16 || scaled ? 2 : 1, group = 32;
  static constexpr float f16_max = 65504;

  static constexpr u32 width(u32 head_dim) { return static_cast<u32>(align_up(head_dim, group)); }
  // Bytes of K, and also of V, of a block.
  static constexpr u64 side_bytes(u32 head_dim) {
    constexpr dtype_info stored = info(KV);
    return u64{key_block} * width(head_dim) / stored.block * stored.bytes;
  }
  static constexpr u64 block_bytes(u32 head_dim) { return 2 * side_bytes(head_dim); }

  // k, v: [head_dim] of each of N positions, k already normed and roped; of two the first is even. Different positions
  // may be stored by different threads.
  template <u32 N>
  static void store(const kv_blocks& head, u32 position, u32 head_dim, const float* const (&k)[N],
                    const float* const (&v)[N]) {
    std::byte* const to_k = head[position / key_block];
    std::byte* const to_v = to_k + side_bytes(head_dim);
    using together = std::conditional_t<pair * sizeof(element) == 4, u32, u16>;
    for (u32 i = 0; i < head_dim; i += group) {
      const u32 n = std::min(group, head_dim - i), stored = scaled ? group : n;
      alignas(64) element part[N][group];
      for (u32 p = 0; p < N; ++p) encode(k[p] + i, n, part[p], to_k + scale_at(position + p, head_dim, i));
      std::byte* column = to_k + k_index(position, i) * sizeof(element);
      for (u32 j = 0; j < stored; j += pair, column += u64{key_block} * pair * sizeof(element)) {
        together of[N];
        for (u32 p = 0; p < N; ++p) std::memcpy(of + p, part[p] + j, sizeof *of);
        std::memcpy(column, of, sizeof of);
      }
      for (u32 p = 0; p < N; ++p) encode(v[p] + i, n, part[p], to_v + scale_at(position + p, head_dim, i));
      auto* const row = reinterpret_cast<element*>(to_v) + v_index(position, head_dim, i);
      if constexpr (pair == 1)
        for (u32 p = 0; p < N; ++p) std::copy_n(part[p], stored, row + u64{p} * width(head_dim));
      else
        for (u32 j = 0; j < stored; ++j)
          for (u32 p = 0; p < N; ++p) row[j * pair + p] = part[p][j];
    }
  }
  static void store(const kv_blocks& head, u32 position, u32 head_dim, const float* k, const float* v) {
    store<1>(head, position, head_dim, {k}, {v});
  }

  // Reads a number back: dim i of a position.
  static float key(const kv_blocks& head, u32 position, u32 head_dim, u32 i) {
    const std::byte* const from = head[position / key_block];
    return decode(from, k_index(position, i), scale_at(position, head_dim, i));
  }
  static float value(const kv_blocks& head, u32 position, u32 head_dim, u32 i) {
    const std::byte* const from = head[position / key_block] + side_bytes(head_dim);
    return decode(from, v_index(position, head_dim, i), scale_at(position, head_dim, i));
  }

 private:
  static u64 k_index(u32 position, u32 i) { return u64{i / pair * key_block + position % key_block} * pair + i % pair; }
  static u64 v_index(u32 position, u32 head_dim, u32 i) {
    return (u64{position % key_block / pair} * width(head_dim) + i) * pair + position % pair;
  }
  // Offset from K or V of the scale for dims [i, i + 32) of a position.
  static u64 scale_at(u32 position, u32 head_dim, u32 i) {
    return u64{key_block} * width(head_dim) + (u64{i / group * key_block} + position % key_block) * 2;
  }

  // Encodes at most `group` numbers. A number or scale beyond the range of f16 saturates: an infinity would turn masked
  // positions, whose weight is 0, into NaN.
  CKE_OUT_OF_LINE static void encode(const float* x, u32 n, element* out, std::byte* scale);
  static float decode(const std::byte* side, u64 index, [[maybe_unused]] u64 scale) {
    const auto x = kernels::read<element>(side + index * sizeof(element));
    if constexpr (KV == dtype::f32) return x;
    else if constexpr (KV == dtype::bf16) return from_bf16(x);
    else if constexpr (KV == dtype::f16) return from_f16(x);
    else return static_cast<float>(x) * from_f16(kernels::read<u16>(side + scale));
  }
};

template <dtype KV, class Isa>
void kv_cache<KV, Isa>::encode(const float* x, u32 n, element* out, [[maybe_unused]] std::byte* scale) {
  if constexpr (scaled) {
    float all[group]{};
    std::copy_n(x, n, all);
    auto* const codes = reinterpret_cast<std::byte*>(out);
    const float d = kernels::operand<dtype::q8_0, Isa>::quantise(all, codes).d;
    kernels::write(scale, to_f16(std::min(d, f16_max)));
  } else if constexpr (KV == dtype::f32) {
    std::copy_n(x, n, out);
  } else {
    u32 i = 0;
    if constexpr (!simd::is_scalar<Isa>)
      for (; i + Isa::lanes <= n; i += Isa::lanes) {
        const auto values = simd::vf32<Isa>::load_unaligned(x + i);
        if constexpr (KV == dtype::bf16) simd::store_bf16<Isa>(out + i, values);
        else simd::store_f16<Isa>(out + i, simd::clamp<Isa>(values, -f16_max, f16_max));
      }
    for (; i < n; ++i)
      if constexpr (KV == dtype::bf16) out[i] = to_bf16(x[i]);
      else out[i] = to_f16(std::clamp(x[i], -f16_max, f16_max));
  }
}

#ifdef CKE_COMPILED  // what a file of a session leaves empty is stored outside of steps
extern template struct kv_cache<dtype::f32, isa::native>;
extern template struct kv_cache<dtype::f16, isa::native>;
extern template struct kv_cache<dtype::bf16, isa::native>;
extern template struct kv_cache<dtype::q8_0, isa::native>;
#endif

}  // namespace cke::kernels

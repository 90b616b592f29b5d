// SPDX-License-Identifier: MIT
// attention_dots.hpp: the products of queries and weights with each kind of cache.
#pragma once

#include "kv_cache.hpp"

namespace cke::kernels {

// One lane takes four bytes of q or p: an f32, or a pair of the cache's 16-bit numbers (bf16, and i16 for q8_0). A q8_0
// cache multiplies integers: q and, for each 32 dims, p times the scales of v are rounded to 16 bits; sums are exact,
// over 32 dims of k and a block of v.
template <dtype KV, class Isa> struct attention_dots {
  using isa = Isa;
  using cache = kv_cache<KV, Isa>;
  using batch = simd::vf32<Isa>;
  using vi32 = simd::vi32<Isa>;
  using sum = std::conditional_t<cache::scaled, vi32, batch>;
  static constexpr u32 lanes = Isa::lanes;
  static constexpr u32 line = lanes * cache::pair * sizeof(typename cache::element);

  // Queries are computed in tiles of 8, so that one pointer reaches all of them.
  static constexpr u32 tile = 8, step = tile * 4;  // bytes of q from one step to the next

  // ---- a tile of q: [width / pair][8] of four bytes; for q8_0 then scales [width / 32][8]
  static constexpr u32 q_floats(u32 width) { return (width / cache::pair + scales(width)) * tile; }
  static void put_query(const float* from, u32 head_dim, u32 width, float* to, u32 t) {
    alignas(64) float part[cache::group];
    for (u32 d = 0; d < width; d += cache::group) {
      std::fill(std::copy_n(from + d, std::min(cache::group, head_dim - d), part), part + cache::group, 0.f);
      if constexpr (cache::scaled)
        to[(width / cache::pair + d / cache::group) * tile + t] =
            round(part, cache::group, reinterpret_cast<i16*>(part));
      else if constexpr (KV == dtype::bf16)  // in place: the 16-bit numbers never overtake the floats
        for (u32 i = 0; i < cache::group; i += lanes)
          simd::store_bf16<Isa>(reinterpret_cast<u16*>(part) + i, batch::load_unaligned(part + i));
      for (u32 i = 0; i < cache::group / cache::pair; ++i) to[(d / cache::pair + i) * tile + t] = part[i];
    }
  }
  static batch query_scale(const std::byte* q, u32 width, u32 group, u32 t) {
    return simd::bcast_f32<Isa>(q + 4 * (u64{width / cache::pair + group} * tile + t));
  }

  // ---- a tile of p: [8][key_block] scores, overwritten by weights; for q8_0 then i16 [width / 32][8][key_block], and
  // scales [width / 32][8]
  static constexpr u32 p_floats(u32 width) { return tile * (key_block + scales(width) * (key_block / 2 + 1)); }
  // Byte offsets: of the weights that dots read, between two queries, and to the next 32 dims.
  static constexpr u32 p_first = cache::scaled ? tile * key_block * 4 : 0;
  static constexpr u32 p_row = key_block * (cache::scaled ? 2 : 4);
  static constexpr u32 p_group = cache::scaled ? tile * p_row : 0;
  static batch p_scale(const float* p, u32 width, u32 group, u32 t) {
    if constexpr (!cache::scaled) return batch(1.f);
    return batch(p[tile * (key_block + scales(width) * (key_block / 2) + group) + t]);
  }
  // Stores a register of weights; returns them as rounded.
  CKE_INLINE static batch put_weights(float* row, u32 g, batch e) {
    if constexpr (KV == dtype::bf16) {
      u16* const to = reinterpret_cast<u16*>(row) + g * lanes;
      simd::store_bf16<Isa>(to, e);
      return simd::load_bf16<Isa>(to);
    } else {
      e.store_unaligned(row + g * lanes);
      return e;
    }
  }
  // q8_0: weights [first, last) of row t times the scales of v, at `v_scales` [width / 32][key_block].
  static void scale_weights(float* p, u32 t, u32 width, u32 first, u32 last, const std::byte* v_scales) {
    const float* const row = p + t * key_block;
    auto* const to = reinterpret_cast<i16*>(p + tile * key_block) + t * key_block;
    float* const scale = p + tile * (key_block + scales(width) * (key_block / 2)) + t;
    alignas(64) float product[key_block];
    for (u32 g = 0; g < width / cache::group; ++g) {
      for (u32 i = first; i < last; i += lanes)
        (batch::load_unaligned(row + i) * simd::load_f16<Isa>(v_scales + (g * key_block + i) * 2))
            .store_unaligned(product + i);
      scale[g * tile] = round(product + first, last - first, to + g * tile * key_block + first);
    }
  }

  // q8_0: the scales of a side of a block.
  static const std::byte* scales_of(const std::byte* side, u32 width) {
    return side + u64{width / cache::pair} * key_block * cache::pair * sizeof(typename cache::element);
  }

  // ---- a register of the cache, and one step
  CKE_INLINE static auto load(const std::byte* at) {
    if constexpr (cache::scaled) return simd::load_i8_as_i16<Isa>(at);
    else if constexpr (KV == dtype::bf16) return vi32::load_unaligned(reinterpret_cast<const i32*>(at));
    else if constexpr (KV == dtype::f16) return simd::load_f16<Isa>(at);
    else return batch::load_unaligned(reinterpret_cast<const float*>(at));
  }
  template <class X> CKE_INLINE static sum mac(sum acc, X x, const std::byte* y) {
    if constexpr (cache::scaled) return simd::dot2_i16<Isa>(acc, x, simd::bcast4<Isa>(y));
    else if constexpr (KV == dtype::bf16) return simd::dot2_bf16<Isa>(acc, x, simd::bcast4<Isa>(y));
    else return xsimd::fma(x, simd::bcast_f32<Isa>(y), acc);
  }
  CKE_INLINE static batch number(sum s) {
    if constexpr (cache::scaled) return xsimd::to_float(s);
    else return s;
  }

 private:
  static constexpr u32 scales(u32 width) { return cache::scaled ? width / cache::group : 0; }

  // Rounds n numbers, a multiple of lanes, to q = round(x * 32767 / amax); returns the scale. q may be the front of x.
  // |x| is compared as bits: NaN and infinity become the scale.
  static float round(const float* x, u32 n, i16* q) {
    vi32 top(0);
    for (u32 i = 0; i < n; i += lanes) top = xsimd::max(top, simd::as<vi32>(xsimd::abs(batch::load_unaligned(x + i))));
    const float amax = std::bit_cast<float>(simd::reduce_max<Isa>(top));
    const batch by(amax < 0x1p-111f ? 0.f : 32767.f / amax);
    for (u32 i = 0; i < n; i += lanes)
      simd::store_i16<Isa>(q + i, xsimd::nearbyint_as_int(batch::load_unaligned(x + i) * by));
    return amax * (1.f / 32767.f);
  }
};

}  // namespace cke::kernels

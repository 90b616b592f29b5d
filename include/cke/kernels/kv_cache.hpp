// SPDX-License-Identifier: MIT
// kv_cache.hpp: how the keys and values of one kv head lie in memory.
#pragma once

#include <algorithm>

#include "../core/dtype.hpp"
#include "../core/params.hpp"
#include "../core/simd.hpp"

namespace cke {

// Lanes are positions in K, so that a register of scores needs no horizontal sum, and dims in V.
//           K                          V
// f32, f16  [pos / lanes][d][lanes]        [pos][width]
// bf16      [pos / lanes][d / 2][lanes][2] [pos / 2][width][2]   pairs, for the bf16 dot product
// d is even; width is d rounded up to whole registers. The padding is never written nor seen.
template <dtype KV, class Isa> struct kv_cache {
  static_assert(KV == dtype::f32 || KV == dtype::f16 || KV == dtype::bf16,
                "cke: kv_cache: keys and values are f32, f16 or bf16");
  using element = std::conditional_t<KV == dtype::f32, float, u16>;
  static constexpr u32 lanes = Isa::lanes, pair = KV == dtype::bf16 ? 2 : 1;
  static constexpr float f16_max = 65504;

  static constexpr u32 width(u32 head_dim) { return static_cast<u32>(align_up(head_dim, lanes)); }

  // Bytes of K, and also of V, for `positions` of one head.
  static constexpr u64 head_bytes(u32 positions, u32 head_dim) {
    return align_up(positions, key_block) * width(head_dim) * sizeof(element);
  }

  static constexpr u64 k_index(u32 position, u32 head_dim, u32 i) {
    return u64{position / lanes} * head_dim * lanes + (i / pair * lanes + position % lanes) * pair +
           i % pair;
  }
  static constexpr u64 v_index(u32 position, u32 head_dim, u32 i) {
    return (u64{position / pair} * width(head_dim) + i) * pair + position % pair;
  }

  static element encode(float x) {
    if constexpr (KV == dtype::f32) return x;
    else if constexpr (KV == dtype::bf16) return to_bf16(x);
    // Beyond the range of f16 a value saturates: an infinity would turn masked positions, which
    // count 0 times, into NaN.
    else return to_f16(std::clamp(x, -f16_max, f16_max));
  }
  static float decode(element x) {
    if constexpr (KV == dtype::f32) return x;
    else if constexpr (KV == dtype::bf16) return from_bf16(x);
    else return from_f16(x);
  }

  // k, v: [head_dim] of one position, k already normed and roped. Different positions may be
  // stored by different threads.
  static void store(void* k_base, void* v_base, u32 position, u32 head_dim, const float* k,
                    const float* v) {
    auto* const kc = static_cast<element*>(k_base) + k_index(position, head_dim, 0);
    auto* const vc = static_cast<element*>(v_base) + v_index(position, head_dim, 0);
    element part[lanes];
    for (u32 i = 0; i < head_dim; i += lanes) {
      const u32 n = std::min(lanes, head_dim - i);
      encode(k + i, n, part);
      for (u32 j = 0; j < n; j += pair)
        std::memcpy(kc + u64{i + j} * lanes, part + j, pair * sizeof(element));
      encode(v + i, n, part);
      for (u32 j = 0; j < n; ++j) vc[u64{i + j} * pair] = part[j];
    }
  }

 private:
  static void encode(const float* x, u32 n, element* out) {
    if constexpr (!simd::is_scalar<Isa> && KV != dtype::f32)
      if (n == lanes) {
        const auto values = simd::vf32<Isa>::load_unaligned(x);
        if constexpr (KV == dtype::bf16) simd::store_bf16<Isa>(out, values);
        else
          simd::store_f16<Isa>(out, xsimd::min(simd::vf32<Isa>(f16_max),
                                               xsimd::max(simd::vf32<Isa>(-f16_max), values)));
        return;
      }
    for (u32 i = 0; i < n; ++i) out[i] = encode(x[i]);
  }
};

}  // namespace cke

// SPDX-License-Identifier: MIT
// attention_state.hpp: what attention keeps of its queries between one block of keys and the next.
#pragma once

#include <algorithm>
#include <limits>

#include "../core/simd.hpp"
#include "kv_cache.hpp"

namespace cke {

// Rows in a caller's workspace, each `width` floats: head_dim rounded up to whole registers.
template <dtype KV, class Isa> struct attention_state {
  using batch = simd::vf32<Isa>;
  static constexpr u32 lanes = Isa::lanes, max_queries = 32;
  static constexpr u32 max_tile = 8;  // queries whose blocks are computed together

  u32 width, head_dim;
  float* q;                              // [queries][width]: f32, or bf16 pairs for a bf16 cache
  float* o;                              // [queries][width]: sum of p v so far, relative to m
  float m[max_queries], l[max_queries];  // greatest score so far (of base 2), sum of p
  float* part;                           // [max_tile][width]: o of one block
  float* p;                              // [max_tile][key_block]: scores, then weights

  attention_state(u32 d, u32 queries, float* at)
      : width(kv_cache<KV, Isa>::width(d)),
        head_dim(d),
        q(at),
        o(q + u64{queries} * width),
        part(o + u64{queries} * width),
        p(part + max_tile * width) {}

  static constexpr u64 floats(u32 d, u32 queries) {
    return (2 * u64{queries} + max_tile) * kv_cache<KV, Isa>::width(d) + max_tile * key_block;
  }

  void begin(u32 i, const float* from) {
    float* const to = q + u64{i} * width;
    std::fill(std::copy_n(from, head_dim, to), to + width, 0.f);
    if constexpr (KV == dtype::bf16)  // in place: the 16-bit numbers never overtake the floats
      for (u32 j = 0; j < width; j += lanes)
        simd::store_bf16<Isa>(reinterpret_cast<u16*>(to) + j, batch::load_unaligned(to + j));
    std::fill_n(o + u64{i} * width, width, 0.f);
    m[i] = -std::numeric_limits<float>::infinity();
    l[i] = 0;
  }

  // Query i sees part[row], which is relative to m_block: both sides move to the greater maximum.
  CKE_OUT_OF_LINE void fold(u32 i, u32 row, float m_block, float l_block) {
    const float top = std::max(m[i], m_block);
    const batch old = simd::exp2<Isa>(batch(m[i] - top));
    const batch fresh = simd::exp2<Isa>(batch(m_block - top));
    l[i] = xsimd::fma(batch(l[i]), old, batch(l_block) * fresh).get(0);
    m[i] = top;
    float *const sum = o + u64{i} * width, *const add = part + u64{row} * width;
    for (u32 j = 0; j < width; j += lanes)
      xsimd::fma(batch::load_unaligned(sum + j), old, batch::load_unaligned(add + j) * fresh)
          .store_unaligned(sum + j);
  }

  void end(u32 i, float* out) const {
    const float inverse = 1.f / l[i];
    for (u32 j = 0; j < head_dim; ++j) out[j] = o[u64{i} * width + j] * inverse;
  }
};

}  // namespace cke

// SPDX-License-Identifier: MIT
// attention_block.hpp: a block of keys, what queries see of it, and how their scores become weights.
#pragma once

#include <span>

#include "attention_dots.hpp"
#include "attention_part.hpp"

namespace cke::kernels {

// One query: q [head_dim] (normed and roped) sees cached positions [first, keys); out [head_dim].
struct attention_query {
  const float* q;
  float* out;
  u32 keys;  // > first
  u32 first;
};
struct score_options {
  u32 head_dim;
  float scale, cap;  // a score is scale * q.k, then cap * tanh(score / cap) unless cap is 0
};

// A block of key_block positions from `start` on.
struct attention_block {
  const std::byte *k, *v, *next;  // next: read after this block
  u32 start, width;
  const score_options& o;

  bool seen_by(const attention_query& q) const { return q.keys > start && q.first < start + key_block; }
};
// Positions of a block, counted from its start.
struct key_range {
  u32 from = key_block, end = 0;
  bool empty() const { return from >= end; }
};
// Those that any of the queries sees.
inline key_range range_of(const attention_block& b, std::span<const attention_query> queries) {
  key_range r;
  for (const attention_query& query : queries) {
    if (!b.seen_by(query)) continue;
    r.from = std::min(r.from, std::max(query.first, b.start) - b.start);
    r.end = std::max(r.end, std::min(query.keys - b.start, key_block));
  }
  return r;
}

// The factors of a query's earlier part and of this block when they are added.
struct attention_balance {
  alignas(64) float old[16], fresh[16];
};

template <class Dots> struct attention_weights {
  using Isa = typename Dots::isa;
  using batch = simd::vf32<Isa>;
  using parts = attention_part<Isa>;
  static constexpr u32 lanes = Isa::lanes;

  // Turns the scores of registers [first, last) into weights relative to their maximum, and updates m and l of the
  // parts. Exponents are of 2: log2(e) goes into the scale.
  CKE_OUT_OF_LINE static void weigh(const attention_block& b, std::span<const attention_query> queries, u32 first,
                                    u32 last, float* p, float* to, attention_balance& w) {
    constexpr float log2e = 1.44269504f;
    const u32 row = parts::floats(b.width);
    const auto n = static_cast<u32>(queries.size());
    alignas(64) float m[16], l[16], m_block[16], l_block[16];
    if (b.o.cap != 0)
      for (u32 t = 0; t < n; ++t) soften(b, first, last, p + t * key_block);
    const batch factor((b.o.cap != 0 ? b.o.cap : b.o.scale) * log2e);
    u32 t = 0;
    for (; t + 2 <= n; t += 2)
      weigh_rows<2>(b, queries.subspan(t, 2), first, last, factor, p + t * key_block, &m_block[t], &l_block[t]);
    if (t < n) weigh_rows<1>(b, queries.subspan(t), first, last, factor, p + t * key_block, &m_block[t], &l_block[t]);
    for (t = 0; t < n; ++t) {
      if constexpr (Dots::cache::scaled)
        Dots::scale_weights(p, t, b.width, first * lanes, last * lanes, Dots::scales_of(b.v, b.width));
      m[t] = parts::m(to + t * row, b.width), l[t] = parts::l(to + t * row, b.width);
    }
    for (; t < 16; ++t) m[t] = l[t] = m_block[t] = l_block[t] = 0;
    for (t = 0; t < n; t += lanes) {
      const batch before = batch::load_unaligned(m + t), here = batch::load_unaligned(m_block + t);
      const batch top = xsimd::max(before, here);
      const batch old = simd::exp2<Isa>(before - top), fresh = simd::exp2<Isa>(here - top);
      xsimd::fma(batch::load_unaligned(l + t), old, batch::load_unaligned(l_block + t) * fresh).store_unaligned(l + t);
      top.store_unaligned(m + t), old.store_unaligned(w.old + t), fresh.store_unaligned(w.fresh + t);
    }
    for (t = 0; t < n; ++t)
      if (b.seen_by(queries[t])) parts::m(to + t * row, b.width) = m[t], parts::l(to + t * row, b.width) = l[t];
  }

 private:
  // Weights of R rows, side by side: one alone would wait for itself. m: the greatest score, l: the sum of weights.
  template <u32 R>
  CKE_INLINE static void weigh_rows(const attention_block& b, std::span<const attention_query> queries, u32 first,
                                    u32 last, batch factor, float* p, float* m, float* l) {
    bool all = true;
    batch top[R], sum[R];
#pragma GCC unroll 2
    for (u32 r = 0; r < R; ++r) {
      all = all && queries[r].first <= b.start + first * lanes && queries[r].keys >= b.start + last * lanes;
      top[r] = batch(hidden), sum[r] = batch(0.f);
    }
    const auto scaled = [&](u32 r, u32 g) __attribute__((always_inline)) {
      return score(b, queries[r], all, factor, p + r * key_block, g);
    };
    for (u32 g = first; g < last; ++g)
#pragma GCC unroll 2
      for (u32 r = 0; r < R; ++r) top[r] = xsimd::max(top[r], scaled(r, g));
#pragma GCC unroll 2
    for (u32 r = 0; r < R; ++r) m[r] = simd::reduce_max<Isa>(top[r]), top[r] = batch(m[r]);
    for (u32 g = first; g < last; ++g)
#pragma GCC unroll 2
      for (u32 r = 0; r < R; ++r)
        sum[r] += Dots::put_weights(p + r * key_block, g, simd::exp2<Isa>(scaled(r, g) - top[r]));
#pragma GCC unroll 2
    for (u32 r = 0; r < R; ++r) l[r] = simd::reduce_add<Isa>(sum[r]);
  }
  // Register g of a row of scores; hidden where the query does not see the key.
  CKE_INLINE static batch score(const attention_block& b, const attention_query& query, bool all, batch factor,
                                const float* row, u32 g) {
    const batch s = batch::load_unaligned(row + g * lanes) * factor;
    return all ? s : xsimd::select(visible(query, b.start + g * lanes), s, batch(hidden));
  }
  // tanh(score / cap)
  CKE_OUT_OF_LINE static void soften(const attention_block& b, u32 first, u32 last, float* row) {
    for (u32 i = first * lanes; i < last * lanes; i += lanes)
      simd::tanh<Isa>(batch::load_unaligned(row + i) * batch(b.o.scale / b.o.cap)).store_unaligned(row + i);
  }
  // The least score: its weight beside any other is 0.
  static constexpr float hidden = std::numeric_limits<float>::lowest();
  CKE_INLINE static auto visible(const attention_query& query, u32 position) {
    alignas(64) static constexpr i32 lane_numbers[]{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const auto lane = simd::vi32<Isa>::load_unaligned(lane_numbers);
    const auto from = static_cast<i32>(query.first) - static_cast<i32>(position);
    const auto to = static_cast<i32>(query.keys) - static_cast<i32>(position);
    return xsimd::batch_bool_cast<float>(lane >= simd::vi32<Isa>(from) && lane < simd::vi32<Isa>(to));
  }
};

}  // namespace cke::kernels

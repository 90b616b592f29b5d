// SPDX-License-Identifier: MIT
// attention.hpp: softmax(q k^T) v of the queries that share one kv head, over its cache.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "attention_state.hpp"

namespace cke {

// One query: q [head_dim] (normed and roped) sees cached positions [first, keys); out [head_dim].
struct attention_query {
  const float* q;
  float* out;
  u32 keys;  // > first
  u32 first;
};

// softmax(scores) v; a score is scale * q.k, then cap * tanh(score / cap) unless cap is 0.
//
// The bits of a query's result depend on the query and on what it sees, not on the others of the
// call. Every aligned block of key_block positions is reduced by itself: m, its greatest score; l,
// the sum of p = exp(score - m); o, the sum of p v. Blocks are folded in order:
//   m' = max(m, m_b)   l' = l exp(m - m') + l_b exp(m_b - m')   o' likewise   result: o / l
// A position that a query does not see has p = 0 exactly, whatever finite number the cache holds.
//
// A bf16 cache wants q and p in bf16 too; l then sums the rounded p, so that they weigh 1 together.
template <dtype KV, class Isa> struct attention_kernel {
  using cache = kv_cache<KV, Isa>;
  using batch = simd::vf32<Isa>;
  using state = attention_state<KV, Isa>;
  static constexpr u32 lanes = Isa::lanes, max_queries = state::max_queries;

  // The area that run() uses, 64-byte aligned; `queries` at most max_queries.
  static constexpr u64 workspace_bytes(u32 head_dim, u32 queries) {
    return align_up(state::floats(head_dim, queries) * sizeof(float));
  }

  // At most max_queries; k_base and v_base: a kv_cache<KV, Isa>.
  static void run(std::span<const attention_query> queries, const void* k_base, const void* v_base,
                  u32 head_dim, float scale, float cap, void* workspace) {
    const auto n = static_cast<u32>(queries.size());
    state st(head_dim, n, static_cast<float*>(workspace));
    u32 first = ~0u, keys = 0;
    for (u32 i = 0; i < n; ++i) {
      first = std::min(first, queries[i].first);
      keys = std::max(keys, queries[i].keys);
      st.begin(i, queries[i].q);
    }
    for (u32 start = first / key_block * key_block; start < keys; start += key_block) {
      const auto* k = static_cast<const std::byte*>(k_base) + u64{start} * head_dim * item;
      const auto* v = static_cast<const std::byte*>(v_base) + u64{start} * st.width * item;
      const auto* next = start + key_block < keys ? k + u64{key_block} * head_dim * item : v;
      for (u32 i = 0; i < n; i += max_tile) {
        // The first tile waits for memory: it asks for V while it reads K, then for the next K.
        const block b = i == 0 ? block{k, v, v, next, start, head_dim, scale, cap}
                               : block{k, v, k, v, start, head_dim, scale, cap};
        tile(b, queries.subspan(i, std::min(max_tile, n - i)), st, i);
      }
    }
    for (u32 i = 0; i < n; ++i) st.end(i, queries[i].out);
  }

 private:
  static constexpr u32 max_tile = state::max_tile;
  // Accumulators that stay in registers, whatever the tile: queries x registers of keys or dims.
  static constexpr u32 accumulators = lanes == 16 ? 16 : 8;
  static constexpr u32 pair = cache::pair, item = sizeof(typename cache::element);

  // 128 positions, what to prefetch during k and during v, and how scores are made
  struct block {
    const std::byte *k, *v, *with_k, *with_v;
    u32 start, head_dim;
    float scale, cap;
  };

  // One block for up to max_tile queries, the first of which is number `at`.
  static void tile(const block& b, std::span<const attention_query> queries, state& st, u32 at) {
    u32 from = key_block, to = 0;  // what any of them sees of the block
    for (const attention_query& q : queries) {
      if (q.keys <= b.start || q.first >= b.start + key_block) continue;
      from = std::min(from, std::max(q.first, b.start) - b.start);
      to = std::max(to, std::min(q.keys, b.start + key_block) - b.start);
    }
    if (from >= to) return;
    const auto n = static_cast<u32>(queries.size());
    if (n == 1) products<1>(b, queries, st, at, from, to);
    else if (n == 2) products<2>(b, queries, st, at, from, to);
    else if (n <= 4) products<4>(b, queries, st, at, from, to);
    else products<8>(b, queries, st, at, from, to);
  }

  // T rows in registers; with fewer queries the last one is computed again and again, and dropped.
  template <u32 T>
  static void products(const block& b, std::span<const attention_query> queries, state& st, u32 at,
                       u32 from, u32 to) {
    constexpr u32 wide = std::min(accumulators / T, 8u);  // registers of keys or dims at once
    const auto n = static_cast<u32>(queries.size());
    const std::byte *q[T], *p[T];
    for (u32 t = 0; t < T; ++t) {
      q[t] = reinterpret_cast<const std::byte*>(st.q + u64{at + std::min(t, n - 1)} * st.width);
      p[t] = reinterpret_cast<const std::byte*>(st.p + std::min(t, n - 1) * key_block);
    }
    const u32 first = from / (wide * lanes) * wide, last = ceil_div(to, lanes);
    for (u32 g = first; g < last; g += wide) scores<T, wide>(b, q, g, st.p);

    float m[T], l[T];
    for (u32 t = 0; t < n; ++t) weigh(b, queries[t], first, last, st.p + t * key_block, m[t], l[t]);

    all_values<T, wide>(b, p, first * lanes / pair, ceil_div(to, pair), 0, st);
    for (u32 t = 0; t < n; ++t)
      if (l[t] != 0) st.fold(at + t, t, m[t], l[t]);
  }

  // a register of the cache times one number (bf16: pair) of q or p, added lane by lane
  CKE_INLINE static auto load(const std::byte* at) {
    if constexpr (KV == dtype::bf16)
      return simd::vi32<Isa>::load_unaligned(reinterpret_cast<const i32*>(at));
    else if constexpr (KV == dtype::f16) return simd::load_f16<Isa>(at);
    else return batch::load_unaligned(reinterpret_cast<const float*>(at));
  }
  template <class X> CKE_INLINE static batch mac(batch acc, X x, const std::byte* y) {
    if constexpr (KV == dtype::bf16) return simd::dot2_bf16<Isa>(acc, x, simd::bcast4<Isa>(y));
    else return xsimd::fma(x, simd::bcast_f32<Isa>(y), acc);
  }

  // rows[t][(group + k) * lanes ...] = q_t . keys. One chain over the dims for each score.
  template <u32 T, u32 K>
  static void scores(const block& b, const std::byte* const (&q)[T], u32 group, float* rows) {
    const u32 steps = b.head_dim / pair, line = lanes * pair * item;
    const u64 group_bytes = u64{steps} * line;
    const std::byte *k = b.k + group * group_bytes, *ahead = b.with_k + group * group_bytes;
    batch acc[T][K];
    for (auto& row : acc)
      for (auto& x : row) x = batch(0.f);
    for (u32 i = 0; i < steps; ++i, k += line, ahead += line)
#pragma GCC unroll 16
      for (u32 g = 0; g < K; ++g) {
        const auto x = load(k + g * group_bytes);
        __builtin_prefetch(ahead + g * group_bytes);
#pragma GCC unroll 8
        for (u32 t = 0; t < T; ++t) acc[t][g] = mac(acc[t][g], x, q[t] + i * 4);
      }
    for (u32 t = 0; t < T; ++t)
      for (u32 g = 0; g < K; ++g)
        acc[t][g].store_unaligned(rows + t * key_block + (group + g) * lanes);
  }

  // Scores of registers [first, last) become weights relative to their maximum m; l is their sum.
  // Exponents are of 2: log2(e) goes into the scale.
  CKE_OUT_OF_LINE static void weigh(const block& b, const attention_query& query, u32 first,
                                    u32 last, float* row, float& m, float& l) {
    constexpr float log2e = 1.44269504f;
    const float hidden = -std::numeric_limits<float>::infinity();
    batch top(hidden);
    for (u32 g = first; g < last; ++g) {
      batch s = batch::load_unaligned(row + g * lanes);
      if (b.cap != 0) s = simd::tanh<Isa>(s * batch(b.scale / b.cap)) * batch(b.cap * log2e);
      else s *= batch(b.scale * log2e);
      s = xsimd::select(visible(query, b.start + g * lanes), s, batch(hidden));
      s.store_unaligned(row + g * lanes);
      top = xsimd::max(top, s);
    }
    m = simd::reduce_max<Isa>(top);
    batch sum(0.f);
    for (u32 g = first; g < last; ++g) {
      batch e = simd::exp2<Isa>(batch::load_unaligned(row + g * lanes) - batch(m));
      e = xsimd::select(visible(query, b.start + g * lanes), e, batch(0.f));
      if constexpr (KV == dtype::bf16) {
        u16* const to = reinterpret_cast<u16*>(row) + g * lanes;
        simd::store_bf16<Isa>(to, e);
        e = simd::load_bf16<Isa>(to);
      } else {
        e.store_unaligned(row + g * lanes);
      }
      sum += e;
    }
    l = simd::reduce_add<Isa>(sum);
  }
  CKE_INLINE static auto visible(const attention_query& query, u32 position) {
    alignas(64) static constexpr i32 lane_numbers[]{0, 1, 2,  3,  4,  5,  6,  7,
                                                    8, 9, 10, 11, 12, 13, 14, 15};
    const auto lane = simd::vi32<Isa>::load_unaligned(lane_numbers);
    const auto from = static_cast<i32>(query.first) - static_cast<i32>(position);
    const auto to = static_cast<i32>(query.keys) - static_cast<i32>(position);
    return xsimd::batch_bool_cast<float>(lane >= simd::vi32<Isa>(from) &&
                                         lane < simd::vi32<Isa>(to));
  }

  // Every register of dims from number d on, D at once while there are as many.
  template <u32 T, u32 D>
  static void all_values(const block& b, const std::byte* const (&p)[T], u32 begin, u32 end, u32 d,
                         state& st) {
    for (; d + D <= st.width / lanes; d += D) values<T, D>(b, p, begin, end, d, st);
    if constexpr (D > 1) all_values<T, D / 2>(b, p, begin, end, d, st);
  }

  // part[t][(d + j) * lanes ...] = sum of p v over steps [begin, end) of positions (bf16: pairs),
  // one chain each
  template <u32 T, u32 D>
  static void values(const block& b, const std::byte* const (&p)[T], u32 begin, u32 end, u32 d,
                     state& st) {
    const u32 line = lanes * pair * item;
    const u64 row_bytes = u64{st.width} * pair * item;
    const u64 at = begin * row_bytes + u64{d} * line;
    const std::byte *v = b.v + at, *ahead = b.with_v + at;
    batch acc[T][D];
    for (auto& row : acc)
      for (auto& x : row) x = batch(0.f);
    for (u32 i = begin; i < end; ++i, v += row_bytes, ahead += row_bytes)
#pragma GCC unroll 16
      for (u32 j = 0; j < D; ++j) {
        const auto x = load(v + j * line);
        __builtin_prefetch(ahead + j * line, 0, 2);
#pragma GCC unroll 8
        for (u32 t = 0; t < T; ++t) acc[t][j] = mac(acc[t][j], x, p[t] + i * 4);
      }
    for (u32 t = 0; t < T; ++t)
      for (u32 j = 0; j < D; ++j)
        acc[t][j].store_unaligned(st.part + t * st.width + (d + j) * lanes);
  }
};

template <dtype KV> struct attention_kernel<KV, isa::scalar> {
  using cache = kv_cache<KV, isa::scalar>;
  static constexpr u32 max_queries = 32;

  // The area that run() uses, 64-byte aligned.
  static constexpr u64 workspace_bytes(u32 head_dim, u32 /*queries*/) {
    return align_up((2 * u64{head_dim} + key_block) * sizeof(float));
  }

  // At most max_queries; k_base and v_base: a kv_cache<KV, Isa>.
  static void run(std::span<const attention_query> queries, const void* k_base, const void* v_base,
                  u32 head_dim, float scale, float cap, void* workspace) {
    const auto* k = static_cast<const typename cache::element*>(k_base);
    const auto* v = static_cast<const typename cache::element*>(v_base);
    float* const o = static_cast<float*>(workspace);  // [head_dim]
    float* const q = o + head_dim;                    // [head_dim]
    float* const p = q + head_dim;                    // [key_block]
    for (const attention_query& query : queries) {
      for (u32 i = 0; i < head_dim; ++i)
        q[i] = KV == dtype::bf16 ? from_bf16(to_bf16(query.q[i])) : query.q[i];
      std::fill_n(o, head_dim, 0.f);
      float m = -std::numeric_limits<float>::infinity(), l = 0;
      for (u32 first = query.first, last; first < query.keys; first = last) {
        last = std::min(query.keys, (first / key_block + 1) * key_block);
        float top = m;
        for (u32 j = first; j < last; ++j) {
          float dot = 0;
          for (u32 i = 0; i < head_dim; ++i)
            dot += q[i] * cache::decode(k[cache::k_index(j, head_dim, i)]);
          const float score = cap != 0 ? cap * std::tanh(dot * scale / cap) : dot * scale;
          p[j - first] = score;
          top = std::max(top, score);
        }
        const float shrink = std::exp(m - top);
        m = top;
        l *= shrink;
        for (u32 i = 0; i < head_dim; ++i) o[i] *= shrink;
        for (u32 j = first; j < last; ++j) {
          const float e = std::exp(p[j - first] - m);
          l += e;
          for (u32 i = 0; i < head_dim; ++i)
            o[i] += e * cache::decode(v[cache::v_index(j, head_dim, i)]);
        }
      }
      for (u32 i = 0; i < head_dim; ++i) query.out[i] = o[i] / l;
    }
  }
};

}  // namespace cke

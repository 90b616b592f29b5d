// SPDX-License-Identifier: MIT
// attention_kernel.hpp: attention of the queries that share a kv head over a run of its keys, in registers.
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

// Call prepare(), then part(): the attention of at most max_queries queries over run number `run` of a head's keys.
//
// The bits of a query's result depend on the query and the keys that it sees, not on the others of the call. Every
// aligned block of key_block positions is reduced by itself: m, its greatest score; l, the sum of p = exp(score - m);
// o, the sum of p v. The blocks of a run are added up in order (see attention_part), and so are the runs. A position
// that a query does not see has p = 0 exactly, whatever finite number the cache holds. With a bf16 cache p is rounded,
// and l sums the rounded p.
template <dtype KV, class Isa> struct attention_kernel {
  using dots = attention_dots<KV, Isa>;
  using cache = typename dots::cache;
  using batch = simd::vf32<Isa>;
  using parts = attention_part<Isa>;
  static constexpr u32 lanes = Isa::lanes, max_queries = 32;

  // The area that prepare() and part() use, 64-byte aligned; `queries` at most max_queries.
  static constexpr u64 workspace_bytes(u32 head_dim, u32 queries) {
    const u32 width = cache::width(head_dim);
    return align_up((u64{ceil_div(queries, tile_rows)} * dots::q_floats(width) + dots::p_floats(width)) * 4);
  }

  // Puts the queries of the next calls of part() into the workspace.
  CKE_OUT_OF_LINE static void prepare(std::span<const attention_query> queries, const score_options& o,
                                      void* workspace) {
    const auto n = static_cast<u32>(queries.size());
    const u32 width = cache::width(o.head_dim);
    float* const q = static_cast<float*>(workspace);
    if (const u32 rest = n % tile_rows; rest != 0 && rest != rows_for(rest))  // rows of q and p without a query
      std::fill_n(q + n / tile_rows * dots::q_floats(width), dots::q_floats(width) + dots::p_floats(width), 0.f);
    for (u32 i = 0; i < n; ++i)
      dots::put_query(queries[i].q, o.head_dim, width, q + i / tile_rows * dots::q_floats(width), i % tile_rows);
  }

  // to: a part for each query.
  CKE_OUT_OF_LINE static void part(std::span<const attention_query> queries, const kv_blocks& head, u32 run,
                                   const score_options& o, float* to, void* workspace) {
    const auto n = static_cast<u32>(queries.size());
    const u32 width = cache::width(o.head_dim);
    float* const q = static_cast<float*>(workspace);
    float* const p = q + ceil_div(n, tile_rows) * dots::q_floats(width);
    u32 first = ~0u, keys = 0;
    for (u32 i = 0; i < n; ++i) {
      first = std::min(first, queries[i].first);
      keys = std::max(keys, queries[i].keys);
      parts::clear(to + i * parts::floats(width), width);
    }
    first = std::max(first / key_block * key_block, run * run_keys);
    keys = std::min(keys, (run + 1) * run_keys);
    for (u32 start = first; start < keys; start += key_block) {
      const std::byte* const k = head[start / key_block];
      const std::byte* const v = k + cache::side_bytes(o.head_dim);
      const block b{k, v, start + key_block < keys ? head[start / key_block + 1] : v, start, width, o};
      for (u32 i = 0; i < n; i += tile_rows)
        tile(b, queries.subspan(i, std::min(tile_rows, n - i)), q + i / tile_rows * dots::q_floats(width), p,
             to + i * parts::floats(width));
    }
  }

 private:
  static constexpr u32 tile_rows = dots::tile;
  static constexpr u32 rows_for(u32 queries) { return queries <= 2 ? 2 : queries <= 4 ? 4 : tile_rows; }
  // Accumulators that stay in registers, whatever the tile: queries x registers of keys or dims.
  static constexpr u32 accumulators = Isa::registers / 2;
  static constexpr u32 ahead = 4096;  // prefetch distance in bytes
  static constexpr u32 key_line = key_block * cache::pair * sizeof(typename cache::element);

  struct block {
    const std::byte *k, *v, *next;  // next: read after this block
    u32 start, width;
    const score_options& o;
    const std::byte* scales(const std::byte* side) const { return side + u64{width / cache::pair} * key_line; }
    bool seen_by(const attention_query& q) const { return q.keys > start && q.first < start + key_block; }
  };
  // The factors of a query's earlier part and of this block when they are added.
  struct balance {
    alignas(64) float old[16], fresh[16];
  };

  // One block for up to tile_rows queries.
  static void tile(const block& b, std::span<const attention_query> queries, const float* q, float* p, float* to) {
    u32 from = key_block, end = 0;  // the positions that any query sees
    for (const attention_query& query : queries) {
      if (!b.seen_by(query)) continue;
      from = std::min(from, std::max(query.first, b.start) - b.start);
      end = std::max(end, std::min(query.keys - b.start, key_block));
    }
    if (from >= end) return;
    switch (rows_for(static_cast<u32>(queries.size()))) {
      case 2: return products<2>(b, queries, q, p, to, from, end);
      case 4: return products<4>(b, queries, q, p, to, from, end);
      default: return products<tile_rows>(b, queries, q, p, to, from, end);
    }
  }

  // T rows in registers: those without a query are computed too, and dropped.
  template <u32 T>
  static void products(const block& b, std::span<const attention_query> queries, const float* q, float* p, float* to,
                       u32 from, u32 end) {
    constexpr u32 wide = std::min(accumulators / T, 8u), least = 2;  // registers of keys or dims at once
    const u32 first = from / (least * lanes) * least, last = ceil_div(end, lanes);
    for (u32 g = first; g < last;)
      if (wide == least || (g % wide == 0 && g + wide / 2 < last)) scores<T, wide>(b, q, g, p), g += wide;
      else scores<T, least>(b, q, g, p), g += least;  // with few keys, do not read the whole block
    balance w;
    weigh(b, queries, first, last, p, to, w);
    const u32 begin = first * lanes / cache::pair, stop = ceil_div(end, cache::pair);
    u32 d = 0;
    for (; d + wide <= b.width / lanes; d += wide) values<T, wide>(b, queries, p, begin, stop, d, w, to);
    if constexpr (wide > least)
      for (; d < b.width / lanes; d += least) values<T, least>(b, queries, p, begin, stop, d, w, to);
  }

  // Row t of p: q_t . keys [group * lanes, (group + K) * lanes). Each score is one chain over the dims; for q8_0, one
  // over the sums of 32.
  template <u32 T, u32 K>
  static void scores(const block& b, const float* q_tile, u32 group, float* p) {
    const u32 dims = cache::scaled ? cache::group : b.o.head_dim;
    const auto* const q = reinterpret_cast<const std::byte*>(q_tile);
    const std::byte* y = q;
    const std::byte* k = b.k + group * dots::line;
    for (u32 d = 0; d < b.o.head_dim; d += dims) {
      typename dots::sum acc[T][K];
      for (auto& row : acc)
        for (auto& x : row) x = typename dots::sum(0);
      for (u32 i = 0; i < dims / cache::pair; ++i, k += key_line, y += dots::step)
#pragma GCC unroll 16
        for (u32 g = 0; g < K; ++g) {
          const auto x = dots::load(k + g * dots::line);
          if constexpr (T < 8) __builtin_prefetch(k + g * dots::line + ahead);
#pragma GCC unroll 8
          for (u32 t = 0; t < T; ++t) acc[t][g] = dots::mac(acc[t][g], x, y + t * 4);
        }
#pragma GCC unroll 16
      for (u32 g = 0; g < K; ++g) {
        float* const to = p + (group + g) * lanes;
        if constexpr (cache::scaled) {
          const u32 at = d / cache::group * key_block + (group + g) * lanes;
          const batch scale = simd::load_f16<Isa>(b.scales(b.k) + 2 * at);
#pragma GCC unroll 8
          for (u32 t = 0; t < T; ++t) {
            const batch so_far = d ? batch::load_unaligned(to + t * key_block) : batch(0.f);
            const batch both = scale * dots::query_scale(q, b.width, d / cache::group, t);
            xsimd::fma(dots::number(acc[t][g]), both, so_far).store_unaligned(to + t * key_block);
          }
        } else {
#pragma GCC unroll 8
          for (u32 t = 0; t < T; ++t) acc[t][g].store_unaligned(to + t * key_block);
        }
      }
    }
  }

  // Turns the scores of registers [first, last) into weights relative to their maximum, and updates m and l of the
  // parts. Exponents are of 2: log2(e) goes into the scale.
  CKE_OUT_OF_LINE static void weigh(const block& b, std::span<const attention_query> queries, u32 first, u32 last,
                                    float* p, float* to, balance& w) {
    constexpr float log2e = 1.44269504f;
    const u32 row = parts::floats(b.width);
    const auto n = static_cast<u32>(queries.size());
    alignas(64) float m[16], l[16], m_block[16], l_block[16];
    if (b.o.cap != 0)
      for (u32 t = 0; t < n; ++t) soften(b, first, last, p + t * key_block);
    const batch factor((b.o.cap != 0 ? b.o.cap : b.o.scale) * log2e);
    for (u32 t = 0; t < n; ++t) {
      const bool all = queries[t].first <= b.start + first * lanes && queries[t].keys >= b.start + last * lanes;
      batch top(hidden);
      for (u32 g = first; g < last; ++g) {
        batch s = batch::load_unaligned(p + t * key_block + g * lanes) * factor;
        if (!all) s = xsimd::select(visible(queries[t], b.start + g * lanes), s, batch(hidden));
        s.store_unaligned(p + t * key_block + g * lanes);
        top = xsimd::max(top, s);
      }
      m_block[t] = simd::reduce_max<Isa>(top);
    }
    for (u32 t = 0; t < n; ++t) {
      batch sum(0.f);
      for (u32 g = first; g < last; ++g) {
        const batch s = batch::load_unaligned(p + t * key_block + g * lanes);
        sum += dots::put_weights(p + t * key_block, g, simd::exp2<Isa>(s - batch(m_block[t])));
      }
      l_block[t] = simd::reduce_add<Isa>(sum);
      if constexpr (cache::scaled) dots::scale_weights(p, t, b.width, first * lanes, last * lanes, b.scales(b.v));
      m[t] = parts::m(to + t * row, b.width), l[t] = parts::l(to + t * row, b.width);
    }
    for (u32 t = n; t < 16; ++t) m[t] = l[t] = m_block[t] = l_block[t] = 0;
    for (u32 t = 0; t < n; t += lanes) {
      const batch before = batch::load_unaligned(m + t), here = batch::load_unaligned(m_block + t);
      const batch top = xsimd::max(before, here);
      const batch old = simd::exp2<Isa>(before - top), fresh = simd::exp2<Isa>(here - top);
      xsimd::fma(batch::load_unaligned(l + t), old, batch::load_unaligned(l_block + t) * fresh).store_unaligned(l + t);
      top.store_unaligned(m + t), old.store_unaligned(w.old + t), fresh.store_unaligned(w.fresh + t);
    }
    for (u32 t = 0; t < n; ++t)
      if (b.seen_by(queries[t])) parts::m(to + t * row, b.width) = m[t], parts::l(to + t * row, b.width) = l[t];
  }
  // tanh(score / cap)
  CKE_OUT_OF_LINE static void soften(const block& b, u32 first, u32 last, float* row) {
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

  // Adds to part t, dims [d * lanes, (d + D) * lanes), the sum of p v over steps [begin, end) of positions, one chain
  // for each.
  template <u32 T, u32 D>
  static void values(const block& b, std::span<const attention_query> queries, const float* p, u32 begin, u32 end,
                     u32 d, const balance& w, float* to) {
    const u64 row_bytes = u64{b.width / lanes} * dots::line;
    const std::byte* v = b.v + begin * row_bytes + u64{d} * dots::line;
    typename dots::sum acc[T][D];
    for (auto& row : acc)
      for (auto& x : row) x = typename dots::sum(0);
    const std::byte* y =
        reinterpret_cast<const std::byte*>(p) + dots::p_first + begin * 4 + d * lanes / cache::group * dots::p_group;
    [[maybe_unused]] const u32 turn = end - std::min(end - begin, static_cast<u32>(ahead / row_bytes));
    const std::byte* soon = v + ahead;
    for (u32 i = begin; i < end; ++i, v += row_bytes, soon += row_bytes, y += 4) {
      if constexpr (T < tile_rows)  // more queries share what they read
        if (i == turn) soon = b.next + u64{d} * dots::line;
#pragma GCC unroll 16
      for (u32 j = 0; j < D; ++j) {
        const auto x = dots::load(v + j * dots::line);
        __builtin_prefetch(soon + j * dots::line, 0, 2);
#pragma GCC unroll 8
        for (u32 t = 0; t < T; ++t)
          acc[t][j] = dots::mac(acc[t][j], x, y + t * dots::p_row + j * lanes / cache::group * dots::p_group);
      }
    }
#pragma GCC unroll 8
    for (u32 t = 0; t < T; ++t) {
      if (t >= queries.size() || !b.seen_by(queries[t])) continue;
      float* const row = to + t * parts::floats(b.width) + d * lanes;
#pragma GCC unroll 16
      for (u32 j = 0; j < D; ++j) {
        const batch fresh = batch(w.fresh[t]) * dots::p_scale(p, b.width, (d + j) * lanes / cache::group, t);
        xsimd::fma(batch::load_unaligned(row + j * lanes), batch(w.old[t]), dots::number(acc[t][j]) * fresh)
            .store_unaligned(row + j * lanes);
      }
    }
  }
};

}  // namespace cke::kernels

// SPDX-License-Identifier: MIT
// attention_kernel.hpp: attention of the queries that share a kv head over a run of its keys, in registers.
#pragma once

#include "attention_panels.hpp"

namespace cke::kernels {

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
  using panels = attention_panels<KV, Isa>;
  static constexpr u32 lanes = Isa::lanes, max_queries = panels::max_queries;

  // The area that prepare() and part() use, 64-byte aligned; `queries` at most max_queries.
  static constexpr u64 workspace_bytes(u32 head_dim, u32 queries) {
    const u32 width = cache::width(head_dim);
    const u32 tiles = ceil_div(queries, tile_rows);
    u64 floats = u64{tiles} * dots::q_floats(width) + dots::p_floats(width);
    if (many(queries)) floats = std::max(floats, panels::floats(width, tiles));
    return align_up(floats * 4);
  }

  // Puts the queries of the next calls of part() into the workspace.
  CKE_OUT_OF_LINE static void prepare(std::span<const attention_query> queries, const score_options& o,
                                      void* workspace) {
    const auto n = static_cast<u32>(queries.size());
    const u32 width = cache::width(o.head_dim);
    float* const q = static_cast<float*>(workspace);
    if constexpr (panels::serve)
      if (many(n)) return panels::prepare(queries, o, width, q);
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
      const attention_block b{k, v, start + key_block < keys ? head[start / key_block + 1] : v, start, width, o};
      if constexpr (panels::serve)
        if (many(n)) {
          panels::block(b, queries, q, to);
          continue;
        }
      for (u32 i = 0; i < n; i += tile_rows)
        tile(b, queries.subspan(i, std::min(tile_rows, n - i)), q + i / tile_rows * dots::q_floats(width), p,
             to + i * parts::floats(width));
    }
  }

 private:
  static constexpr u32 tile_rows = dots::tile;
  // Whether panels serve a call; below, a wider tile would not pay for expanding them.
  static constexpr bool many(u32 queries) { return panels::serve && queries > tile_rows; }
  static constexpr u32 rows_for(u32 queries) { return queries <= 2 ? 2 : queries <= 4 ? 4 : tile_rows; }
  // Accumulators that stay in registers, whatever the tile: queries x registers of keys or dims.
  static constexpr u32 accumulators = Isa::registers / 2;
  // Prefetch distance in bytes, to the second cache: the first has too few lines on their way. Two queries of a cache
  // without scales take less time than memory, which some hardware reads better alone.
  static constexpr u32 ahead = 16384;
  template <u32 T> static constexpr bool fetches = T > 2 || cache::scaled || simd::needs_prefetch<Isa>;
  static constexpr u32 key_line = key_block * cache::pair * sizeof(typename cache::element);

  // One block for up to tile_rows queries.
  static void tile(const attention_block& b, std::span<const attention_query> queries, const float* q, float* p,
                   float* to) {
    const auto [from, end] = range_of(b, queries);
    if (from >= end) return;
    switch (rows_for(static_cast<u32>(queries.size()))) {
      case 2: return products<2>(b, queries, q, p, to, from, end);
      case 4: return products<4>(b, queries, q, p, to, from, end);
      default: return products<tile_rows>(b, queries, q, p, to, from, end);
    }
  }

  // T rows in registers: those without a query are computed too, and dropped.
  template <u32 T>
  static void products(const attention_block& b, std::span<const attention_query> queries, const float* q, float* p,
                       float* to, u32 from, u32 end) {
    constexpr u32 wide = std::min(accumulators / T, 8u), least = 2;  // registers of keys or dims at once
    const u32 first = from / (least * lanes) * least, last = ceil_div(end, lanes);
    for (u32 g = first; g < last;)
      if (wide == least || (g % wide == 0 && g + wide / 2 < last)) scores<T, wide>(b, q, g, p), g += wide;
      else scores<T, least>(b, q, g, p), g += least;  // with few keys, do not read the whole block
    attention_balance w;
    attention_weights<dots>::weigh(b, queries, first, last, p, to, w);
    const u32 begin = first * lanes / cache::pair, stop = ceil_div(end, cache::pair);
    u32 d = 0;
    for (; d + wide <= b.width / lanes; d += wide) values<T, wide>(b, queries, p, begin, stop, d, w, to);
    if constexpr (wide > least)
      for (; d < b.width / lanes; d += least) values<T, least>(b, queries, p, begin, stop, d, w, to);
  }

  // Row t of p: q_t . keys [group * lanes, (group + K) * lanes). Each score is one chain over the dims; for q8_0, one
  // over the sums of 32.
  template <u32 T, u32 K>
  static void scores(const attention_block& b, const float* q_tile, u32 group, float* p) {
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
          if constexpr (fetches<T>) __builtin_prefetch(k + g * dots::line + ahead, 0, 2);
#pragma GCC unroll 8
          for (u32 t = 0; t < T; ++t) acc[t][g] = dots::mac(acc[t][g], x, y + t * 4);
        }
#pragma GCC unroll 16
      for (u32 g = 0; g < K; ++g) {
        float* const to = p + (group + g) * lanes;
        if constexpr (cache::scaled) {
          const u32 at = d / cache::group * key_block + (group + g) * lanes;
          const batch scale = simd::load_f16<Isa>(dots::scales_of(b.k, b.width) + 2 * at);
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

  // Adds to part t, dims [d * lanes, (d + D) * lanes), the sum of p v over steps [begin, end) of positions, one chain
  // for each.
  template <u32 T, u32 D>
  static void values(const attention_block& b, std::span<const attention_query> queries, const float* p, u32 begin,
                     u32 end, u32 d, const attention_balance& w, float* to) {
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
        if constexpr (fetches<T>) __builtin_prefetch(soon + j * dots::line, 0, 2);
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

// SPDX-License-Identifier: MIT
// attention_panels.hpp: attention of many queries over a block of keys, panel by panel.
#pragma once

#include "attention_block.hpp"

namespace cke::kernels {

// Products of f32 with numbers of a 16-bit cache that a panel holds as f32. Those of bf16 round queries and weights as
// attention_dots<bf16> does, and add a pair in its order: where that takes the odd number first, rows of a panel,
// queries and weights have it first too.
template <dtype KV, class Isa> struct expanded_dots : attention_dots<dtype::f32, Isa> {
  using floats = attention_dots<dtype::f32, Isa>;
  using batch = simd::vf32<Isa>;
  static constexpr u32 lanes = Isa::lanes;
  static constexpr bool odd_first = KV == dtype::bf16 && simd::takes_odd_first<Isa>;

  static void put_query(const float* from, u32 head_dim, u32 width, float* to, u32 t) {
    floats::put_query(from, head_dim, width, to, t);
    if constexpr (KV == dtype::bf16)
      for (u32 i = 0; i < width; ++i) to[i * floats::tile + t] = from_bf16(to_bf16(to[i * floats::tile + t]));
    if constexpr (odd_first)
      for (u32 i = 0; i < width; i += 2) std::swap(to[i * floats::tile + t], to[(i + 1) * floats::tile + t]);
  }
  CKE_INLINE static batch put_weights(float* row, u32 g, batch e) {
    if constexpr (KV == dtype::bf16) e = simd::round_bf16<Isa>(e);
    if constexpr (odd_first) floats::put_weights(row, g, simd::swap_pairs<Isa>(e));
    else floats::put_weights(row, g, e);
    return e;
  }
};

// A panel is a few registers of keys (or of dims of v) for all dims (or positions): small enough to stay in the first
// cache while all queries read it. It is expanded to f32 once for all of them, unless the isa multiplies pairs of bf16.
// A query's bits are those of attention_kernel's other path: each sum is the same chain.
template <dtype KV, class Isa> struct attention_panels {
  using cache = kv_cache<KV, Isa>;
  static constexpr bool serve = !cache::scaled && !simd::is_scalar<Isa>;
  static constexpr bool expands = !(KV == dtype::bf16 && simd::has_bf16_dots<Isa>);
  using dots = std::conditional_t<expands, expanded_dots<KV, Isa>, attention_dots<KV, Isa>>;
  using weights = attention_weights<dots>;
  using parts = attention_part<Isa>;
  using batch = simd::vf32<Isa>;
  static constexpr u32 lanes = Isa::lanes, tile = dots::tile, max_queries = attention_queries,
                       most_tiles = max_queries / tile;

  // For a workspace of q [tiles], p [tiles] and a panel.
  static constexpr u64 floats(u32 width, u32 tiles) {
    return u64{tiles} * (dots::q_floats(width) + dots::p_floats(width)) + panel_floats(width);
  }

  static void prepare(std::span<const attention_query> queries, const score_options& o, u32 width, float* q) {
    const auto n = static_cast<u32>(queries.size());
    if (n % tile != 0) std::fill_n(q + n / tile * dots::q_floats(width), dots::q_floats(width), 0.f);
    for (u32 i = 0; i < n; ++i)
      dots::put_query(queries[i].q, o.head_dim, width, q + i / tile * dots::q_floats(width), i % tile);
  }

  CKE_OUT_OF_LINE static void block(const attention_block& b, std::span<const attention_query> queries, float* q,
                                    float* to) {
    const auto n = static_cast<u32>(queries.size()), tiles = ceil_div(n, tile);
    float* const p = q + u64{tiles} * dots::q_floats(b.width);
    float* const panel = p + u64{tiles} * dots::p_floats(b.width);
    tile_of_queries all[most_tiles];
    key_range any;
    for (u32 i = 0; i < tiles; ++i) {
      tile_of_queries& a = all[i];
      a.queries = queries.subspan(i * tile, std::min(tile, n - i * tile));
      a.q = q + u64{i} * dots::q_floats(b.width), a.p = p + u64{i} * dots::p_floats(b.width);
      a.to = to + u64{i} * tile * parts::floats(b.width);
      a.seen = range_of(b, a.queries);
      if (a.seen.empty()) continue;
      any.from = std::min(any.from, a.seen.from), any.end = std::max(any.end, a.seen.end);
    }
    if (any.empty()) return;
    const std::span used(all, tiles);
    each_panel(key_block / lanes, [&]<u32 K>(u32 g) {
      if (g < ceil_div(any.end, lanes) && (g + K) * lanes > any.from) scores<K>(b, g, used, panel);
    });
    for (tile_of_queries& t : used)
      if (!t.seen.empty())
        weights::weigh(b, t.queries, t.seen.from / lanes, ceil_div(t.seen.end, lanes), t.p, t.to, t.balance);
    any = {any.from / cache::pair, ceil_div(any.end, cache::pair)};
    each_panel(std::max(ceil_div(b.o.head_dim, lanes), 2u),
               [&]<u32 D>(u32 d) { values<D>(b, d, any.from, any.end, used, panel); });
  }

 private:
  // Sums that stay in registers: rows of queries times registers of a panel.
  static constexpr u32 rows = Isa::registers < 32 ? 4 : 8, wide = 3;
  static constexpr u32 line = cache::pair * lanes * sizeof(typename cache::element),
                       key_line = line / lanes * key_block;

  static constexpr u64 panel_floats(u32 width) { return expands ? u64{std::max(width, key_block)} * wide * lanes : 0; }

  struct tile_of_queries {
    std::span<const attention_query> queries;
    const float* q{};
    float *p{}, *to{};
    key_range seen;
    attention_balance balance;
  };
  // Calls f.operator()<K>(first register) for panels of three registers, the last ones of two.
  template <class F> CKE_INLINE static void each_panel(u32 registers, F f) {
    u32 at = 0;
    for (; registers - at > 4 || registers - at == 3; at += wide) f.template operator()<wide>(at);
    for (; at < registers; at += 2) f.template operator()<2>(at);
  }

  struct panel_rows {
    const std::byte* data;
    u64 step;  // bytes from one row to the next
  };
  // Rows of K registers of a side of the block, f32 in `to` if they are to be expanded.
  template <u32 K> CKE_INLINE static panel_rows open(const std::byte* from, u64 step, u32 count, float* to) {
    if constexpr (!expands) return {from, step};
    float* out = to;
    for (u32 i = 0; i < count; ++i, from += step, out += u64{cache::pair} * K * lanes) {
      __builtin_prefetch(from + K * line), __builtin_prefetch(from + K * line + 64);  // the next panel
#pragma GCC unroll 4
      for (u32 g = 0; g < K; ++g) {
        if constexpr (KV == dtype::bf16) {
          const auto pair = simd::vi32<Isa>::load_unaligned(reinterpret_cast<const i32*>(from + g * line));
          const auto even = pair << 16, odd = pair & simd::vi32<Isa>(static_cast<i32>(0xffff0000u));
          simd::as<batch>(simd::takes_odd_first<Isa> ? odd : even).store_unaligned(out + g * lanes);
          simd::as<batch>(simd::takes_odd_first<Isa> ? even : odd).store_unaligned(out + (K + g) * lanes);
        } else {
          attention_dots<KV, Isa>::load(from + g * line).store_unaligned(out + g * lanes);
        }
      }
    }
    return {reinterpret_cast<const std::byte*>(to), u64{K} * lanes * sizeof(float)};
  }
  // Steps of dots for one row of a side.
  static constexpr u32 steps = expands ? cache::pair : 1;

  // acc[t][g] = the chain over `count` rows of the panel's register g times y of query t, Step bytes from row to row
  // and Row bytes from query to query.
  template <u32 K, u32 Step, u32 Row>
  CKE_INLINE static void multiply(batch (&acc)[rows][K], panel_rows x, u32 count, const std::byte* y) {
    for (auto& row : acc)
      for (auto& sum : row) sum = batch(0.f);
    // Unrolled, this takes 29 % less time with AVX2: probably because the end of a loop of 64 rows (head_dim, or a
    // block of keys) is mispredicted, and that of 16 is not.
#pragma GCC unroll 4
    for (u32 i = 0; i < count; ++i, x.data += x.step, y += Step) {
      decltype(dots::load(x.data)) own[K];
#pragma GCC unroll 4
      for (u32 g = 0; g < K; ++g) own[g] = dots::load(x.data + g * dots::line);
#pragma GCC unroll 8
      for (u32 t = 0; t < rows; ++t)
#pragma GCC unroll 4
        for (u32 g = 0; g < K; ++g) acc[t][g] = dots::mac(acc[t][g], own[g], y + t * Row);
    }
  }

  // Registers [g, g + K) of the scores of all tiles.
  template <u32 K>
  CKE_OUT_OF_LINE static void scores(const attention_block& b, u32 g, std::span<tile_of_queries> tiles, float* panel) {
    const u32 lines = b.o.head_dim / cache::pair;
    const panel_rows keys = open<K>(b.k + u64{g} * line, key_line, lines, panel);
    for (tile_of_queries& a : tiles) {
      if (a.seen.empty() || g * lanes >= a.seen.end || (g + K) * lanes <= a.seen.from) continue;
      for (u32 t = 0; t < a.queries.size(); t += rows) {
        batch acc[rows][K];
        multiply<K, dots::step, 4>(acc, keys, lines * steps, reinterpret_cast<const std::byte*>(a.q + t));
#pragma GCC unroll 8
        for (u32 i = 0; i < rows; ++i)
#pragma GCC unroll 4
          for (u32 j = 0; j < K; ++j) acc[i][j].store_unaligned(a.p + (t + i) * key_block + (g + j) * lanes);
      }
    }
  }

  // Adds dims [d * lanes, (d + D) * lanes) of the sums of p v; lines [from, end) of v are those that any tile sees.
  template <u32 D>
  CKE_OUT_OF_LINE static void values(const attention_block& b, u32 d, u32 from, u32 end,
                                     std::span<tile_of_queries> tiles, float* panel) {
    const u64 v_line = u64{b.width / lanes} * line;
    const panel_rows all = open<D>(b.v + from * v_line + u64{d} * line, v_line, end - from, panel);
    for (const tile_of_queries& a : tiles) {
      if (a.seen.empty()) continue;
      const u32 first = a.seen.from / lanes * lanes / cache::pair, last = ceil_div(a.seen.end, cache::pair);
      const u32 begin = std::max(first, from);
      const panel_rows own{all.data + (begin - from) * steps * all.step, all.step};
      for (u32 t = 0; t < a.queries.size(); t += rows) {
        batch acc[rows][D];
        multiply<D, 4, dots::p_row>(acc, own, (last - begin) * steps,
                                    reinterpret_cast<const std::byte*>(a.p + t * key_block + begin * steps));
#pragma GCC unroll 8
        for (u32 i = 0; i < rows; ++i) {
          if (t + i >= a.queries.size() || !b.seen_by(a.queries[t + i])) continue;
          float* const row = a.to + (t + i) * parts::floats(b.width) + d * lanes;
          const batch old(a.balance.old[t + i]), fresh(a.balance.fresh[t + i]);
#pragma GCC unroll 4
          for (u32 j = 0; j < D; ++j)
            xsimd::fma(batch::load_unaligned(row + j * lanes), old, acc[i][j] * fresh).store_unaligned(row + j * lanes);
        }
      }
    }
  }
};

}  // namespace cke::kernels

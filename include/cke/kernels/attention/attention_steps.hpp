// SPDX-License-Identifier: MIT
// attention_steps.hpp: the steps of attention: norm and rope of each head, the cache, the scores.
#pragma once

#include <cmath>
#include <initializer_list>

#include "../kernel.hpp"
#include "../rms_norm.hpp"
#include "../store_row.hpp"
#include "attention.hpp"
#include "attention_units.hpp"
#include "kv_cache.hpp"
#include "rope.hpp"

namespace cke::kernels {

inline const segment& segment_of(const work& w, u32 row) { return w.segments[w.segment_of[row]]; }
inline u32 position_of(const segment& s, u32 row) { return s.position + (row - s.first); }
inline kv_blocks blocks_of(const work& w, const segment& s, u32 h) {
  return {s.pages[w.kv.transient], w.kv.offset + h * w.kv.block_bytes};
}

// Calls f(head vector, where its result goes, token, matrix) for every head of q (matrix 0) and k (matrix 1, or none)
// of the unit.
template <class F> void for_each_head(const head_shape& p, const work& w, u32 unit, F f) {
  const auto [first, last] = tokens_of(w, unit);
  const auto [from, to] = kv_heads_of(w, unit, p.kv_heads);
  for (u32 t = first; t < last; ++t)
    for (u32 matrix = 0; matrix < 2 && w.in[matrix].data; ++matrix) {
      const u32 group = matrix == 0 ? p.group() : 1;
      for (u32 h = from * group; h < to * group; ++h)
        f(w.in[matrix].row(t) + u64{h} * p.head_dim, w.out[matrix].row(t) + u64{h} * p.head_dim, t, matrix);
    }
}

template <class Isa> void norm_head(const head_norm_params& p, const work& w, u32 matrix, const float* x, float* out) {
  rms_norm_kernel<Isa>::row(x, reinterpret_cast<const float*>(w.weight[matrix]), p.shape.head_dim, p.eps, p.offset,
                            out);
}
template <class Isa> void turn_head(const rotary& r, u32 head_dim, const work& w, u32 token, float* x) {
  const u32 width = rope_width(r, head_dim);
  const segment& s = segment_of(w, token);
  const u32 position = position_of(s, token);
  const bool in_table = position < w.rope.context && !s.turned;
  const u64 at = u64{in_table ? position : w.rope.beyond + token} * (width / 2);
  rope_kernel<Isa>::apply(x, w.rope.cos + at, w.rope.sin + at, width, r.pairs);
}

template <class Isa> struct kernel<opcode::head_norm, dtype::f32, Isa> {
  static void run(const head_norm_params& p, const work& w, u32 unit) {
    for_each_head(p.shape, w, unit,
                  [&](const float* x, float* out, u32, u32 matrix) { norm_head<Isa>(p, w, matrix, x, out); });
  }
};
template <class Isa> struct kernel<opcode::rope, dtype::f32, Isa> {
  static void run(const rope_params& p, const work& w, u32 unit) {
    for_each_head(p.shape, w, unit, [&](const float*, float* x, u32 token, u32) {
      turn_head<Isa>(p.rope, p.shape.head_dim, w, token, x);
    });
  }
};
template <class Isa> struct kernel<opcode::head_norm_rope, dtype::f32, Isa> {
  static void run(const head_norm_rope_params& p, const work& w, u32 unit) {
    for_each_head(p.norm.shape, w, unit, [&](const float* x, float* out, u32 token, u32 matrix) {
      norm_head<Isa>(p.norm, w, matrix, x, out);
      turn_head<Isa>(p.rope, p.norm.shape.head_dim, w, token, out);
    });
  }
};

template <dtype KV, class Isa>
  requires(is_cache_format(KV))
struct kernel<opcode::kv_store, KV, Isa> {
  static void run(const kv_store_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    const auto [from, to] = kv_heads_of(w, unit, p.kv_heads);
    for (u32 h = from; h < to; ++h)
      for (u32 t = first, n; t < last; t += n) {
        const segment& s = segment_of(w, t);
        const u32 position = position_of(s, t);
        const auto of = [&](u32 matrix, u32 token) { return w.in[matrix].row(token) + u64{h} * p.head_dim; };
        n = position % 2 == 0 && t + 1 < last && t + 1 < s.first + s.tokens ? 2 : 1;
        if (n == 2)
          kv_cache<KV, Isa>::template store<2>(blocks_of(w, s, h), position, p.head_dim, {of(0, t), of(0, t + 1)},
                                               {of(1, t), of(1, t + 1)});
        else kv_cache<KV, Isa>::store(blocks_of(w, s, h), position, p.head_dim, of(0, t), of(1, t));
      }
  }
};

// softmax(q k^T * scale) v of the query heads of one kv head; in[0]: q, out[0]: f32 or operand tiles.
//
// Cut by kv heads, a unit is a whole head. Where `work::cut` is not 0, heads are done in parts: units from kv_heads on
// are the parts of every head, `cut` each, segment by segment; after all parts of a head, unit h adds up its runs.
template <dtype KV, class Isa>
  requires(is_cache_format(KV))
struct kernel<opcode::attend, KV, Isa> {
  using core = head_attention<KV, Isa>;

  // A tile of results, then the attention kernel's own scratch.
  static constexpr u64 scratch_bytes(const attention_params& p, u32 tokens) {
    const u32 group = p.shape.group(), dim = p.shape.head_dim;
    const auto queries = static_cast<u32>(std::min(u64{tokens} * group, u64{most}));
    return align_up(u64{std::max(group, queries)} * dim * sizeof(float)) + core::workspace_bytes(dim, queries);
  }

  static void run(const attention_params& p, const work& w, u32 unit) {
    if (w.by != split::kv_heads) {
      // Head by head, so that threads find its keys in their caches. Later tiles see more keys: start them first.
      const auto tiles = static_cast<u32>(w.tiles.size());
      const u32 together = tiles_of_unit(p, tiles), units = ceil_div(tiles, together), at = units - 1 - unit % units;
      return some_tiles(p, w, all_of(p, unit / units), at * together, std::min(tiles, (at + 1) * together));
    }
    if (unit >= p.shape.kv_heads)
      return part(p, w, (unit - p.shape.kv_heads) / w.cut, (unit - p.shape.kv_heads) % w.cut);
    for (const segment& s : w.segments) {
      if (!w.cut) whole(p, w, s, all_of(p, unit), s.first, s.first + s.tokens);
      else if (runs_of(p, s).count > 1) join(p, w, s, unit);
    }
  }

 private:
  static constexpr u32 most = core::max_queries;

  static score_options options(const attention_params& p) {
    const double usual = 1 / __builtin_sqrt(p.shape.head_dim);  // also where std::sqrt is a call
    return {p.shape.head_dim, p.scale.v != 0 ? float{p.scale} : static_cast<float>(usual), p.cap};
  }
  struct query_heads {
    u32 kv, first, count;
  };  // some query heads of a kv head
  static query_heads all_of(const attention_params& p, u32 kv) { return {kv, kv * p.shape.group(), p.shape.group()}; }
  static query_heads slice_of(const attention_params& p, u32 kv, u32 slice) {
    const u32 group = p.shape.group(), first = slice * heads_of_slice(p.shape);
    return {kv, kv * group + first, std::min(heads_of_slice(p.shape), group - first)};
  }
  // Fills queries from row `from` on; rows are the heads of one token after the other.
  static u32 ask(const attention_params& p, const work& w, const segment& s, query_heads h, u32 from, u32 end,
                 attention_query (&queries)[most]) {
    u32 n = 0;
    for (u32 i = from; i < end && n < most; ++i, ++n) {
      const u32 row = i / h.count, own = position_of(s, row) + 1;
      const u32 visible = p.bidirectional ? s.position + s.tokens : w.visible && p.sees_image ? w.visible[row] : own;
      queries[n] = {w.in[0].row(i / h.count) + u64{h.first + i % h.count} * p.shape.head_dim, nullptr, visible,
                    p.bidirectional      ? s.position
                        : p.window < own ? own - p.window
                                         : 0};
    }
    return n;
  }

  // Tiles [from, end), those of one segment at once.
  static void some_tiles(const attention_params& p, const work& w, query_heads h, u32 from, u32 end) {
    while (from < end) {
      const u32 first = w.tiles[from];
      const segment& s = segment_of(w, first);
      while (from < end && w.tiles[from] < s.first + s.tokens) ++from;
      whole(p, w, s, h, first, std::min(w.tiles[from - 1] + unit_tokens, s.first + s.tokens));
    }
  }
  static void whole(const attention_params& p, const work& w, const segment& s, query_heads h, u32 first, u32 last) {
    const u32 group = h.count, wide = group * p.shape.head_dim;
    const u32 together = group < most ? std::min(most / group, last - first) : 1;
    // scratch: [tokens][heads][head_dim], then the attention kernel's own
    float* const out = reinterpret_cast<float*>(w.scratch);
    std::byte* const inner = w.scratch + align_up(u64{together} * wide * sizeof(float));
    attention_query queries[most];
    for (u32 t = first; t < last; t += together) {
      const u32 end = t + together < last ? t + together : last;
      for (u32 from = t * group, n; from < end * group; from += n) {
        n = ask(p, w, s, h, from, end * group, queries);
        for (u32 i = 0; i < n; ++i) queries[i].out = out + u64{from - t * group + i} * p.shape.head_dim;
        core::run({queries, n}, blocks_of(w, s, h.kv), options(p), inner);
      }
      for (u32 i = t; i < end; ++i)
        store_row<Isa>(w.out[0], w.tokens, i, h.first * p.shape.head_dim, wide, out + u64{i - t} * wide);
    }
  }

  // Parts lie [kv heads][segments][runs][rows]. Counts the rows of one head's parts before a segment's own.
  static u64 rows_before(const attention_params& p, const work& w, const segment* s) {
    u64 rows = 0;
    for (const segment& o : w.segments) {
      if (&o == s) break;
      rows += u64{o.tokens} * runs_of(p, o).count;
    }
    return rows * p.shape.group();
  }
  static float* part_at(const attention_params& p, const work& w, const segment& s, u32 h, u32 row, u32 run) {
    const u64 at = h * rows_before(p, w, nullptr) + rows_before(p, w, &s) + u64{run} * s.tokens * p.shape.group();
    return w.parts + (at + row) * core::part_floats(p.shape.head_dim);
  }
  static void part(const attention_params& p, const work& w, u32 h, u32 unit) {
    const segment* s = w.segments.data();
    for (u32 count; (count = units_of_head(p, *s)) <= unit; ++s) unit -= count;
    const runs seen = runs_of(p, *s);
    if (seen.count == 1) return whole(p, w, *s, slice_of(p, h, unit), s->first, s->first + s->tokens);
    const u32 group = p.shape.group(), begin = s->first * group, end = begin + s->tokens * group;
    attention_query queries[most];
    for (u32 from = begin, n; from < end; from += n) {
      n = ask(p, w, *s, all_of(p, h), from, end, queries);
      core::prepare({queries, n}, options(p), w.scratch);
      core::part({queries, n}, blocks_of(w, *s, h), seen.first + unit, options(p),
                 part_at(p, w, *s, h, from - begin, unit), w.scratch);
    }
  }
  static void join(const attention_params& p, const work& w, const segment& s, u32 h) {
    const u32 group = p.shape.group(), wide = group * p.shape.head_dim;
    float* const out = reinterpret_cast<float*>(w.scratch);  // [group heads][head_dim], then a part
    float* const sum = out + align_up(wide, 16);
    const u64 apart = u64{s.tokens} * group * core::part_floats(p.shape.head_dim);
    for (u32 t = 0; t < s.tokens; ++t) {
      for (u32 g = 0; g < group; ++g)
        core::join(part_at(p, w, s, h, t * group + g, 0), runs_of(p, s).count, apart, p.shape.head_dim,
                   out + g * p.shape.head_dim, sum);
      store_row<Isa>(w.out[0], w.tokens, s.first + t, h * wide, wide, out);
    }
  }
};
template <dtype KV, class Isa>
  requires(is_cache_format(KV))
struct kernel<opcode::attend_quantize, KV, Isa> : kernel<opcode::attend, KV, Isa> {};

}  // namespace cke::kernels

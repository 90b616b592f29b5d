// SPDX-License-Identifier: MIT
// heads.hpp: the steps of attention: norm and rope of each head, the cache, the scores.
#pragma once

#include <cmath>
#include <initializer_list>

#include "attention.hpp"
#include "kernel.hpp"
#include "kv_cache.hpp"
#include "put.hpp"
#include "rms_norm.hpp"
#include "rope.hpp"
#include "rope_frequencies.hpp"

namespace cke {

// f(head vector, token, matrix) for every head of q (matrix 0) and k (matrix 1) of the unit, in place.
template <class F> void for_each_head(const params& p, const work& w, u32 unit, F f) {
  const auto [first, last] = tokens_of(w, unit);
  const auto [from, to] = kv_heads_of(w, unit, p.kv_heads);
  for (u32 t = first; t < last; ++t)
    for (const u32 matrix : {0u, 1u}) {
      const u32 group = matrix == 0 ? p.heads / p.kv_heads : 1;
      for (u32 h = from * group; h < to * group; ++h) f(w.in[matrix].row(t) + u64{h} * p.head_dim, t, matrix);
    }
}

template <class Isa> void norm_head(const params& p, const work& w, u32 matrix, float* x) {
  rms_norm_kernel<Isa>::row(x, reinterpret_cast<const float*>(w.weight[matrix]), p.head_dim, p.eps, p.offset, x);
}
template <class Isa> void turn_head(const params& p, const work& w, u32 token, float* x) {
  const u32 width = rope_width(p.rope, p.head_dim);
  const u64 at = u64{w.position + token} * (width / 2);
  rope_kernel<Isa>::apply(x, w.rope.cos + at, w.rope.sin + at, width, p.rope.pairs);
}

template <class Isa> struct kernel<opcode::head_norm, dtype::f32, Isa> {
  static void run(const params& p, const work& w, u32 unit) {
    for_each_head(p, w, unit, [&](float* x, u32, u32 matrix) { norm_head<Isa>(p, w, matrix, x); });
  }
};
template <class Isa> struct kernel<opcode::rope, dtype::f32, Isa> {
  static void run(const params& p, const work& w, u32 unit) {
    for_each_head(p, w, unit, [&](float* x, u32 token, u32) { turn_head<Isa>(p, w, token, x); });
  }
};
template <class Isa> struct kernel<opcode::head_norm_rope, dtype::f32, Isa> {
  static void run(const params& p, const work& w, u32 unit) {
    for_each_head(p, w, unit, [&](float* x, u32 token, u32 matrix) {
      norm_head<Isa>(p, w, matrix, x);
      turn_head<Isa>(p, w, token, x);
    });
  }
};

template <dtype KV, class Isa>
  requires requires { kv_cache<KV, Isa>::head_bytes(0u, 0u); }
struct kernel<opcode::kv_store, KV, Isa> {
  static void run(const params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    const auto [from, to] = kv_heads_of(w, unit, p.kv_heads);
    for (u32 h = from; h < to; ++h)
      for (u32 t = first; t < last; ++t)
        kv_cache<KV, Isa>::store(w.kv.head(h), w.position + t, p.head_dim,
                                 w.in[0].row(t) + u64{h} * p.head_dim, w.in[1].row(t) + u64{h} * p.head_dim);
  }
};

// The runs of keys that the rows of a pass see.
constexpr runs runs_of(const params& p, u32 tokens, u32 position) {
  const u32 first = (position + 1 > p.window ? position + 1 - p.window : 0) / run_keys;
  return {first, ceil_div(position + tokens, run_keys) - first};
}

// softmax(q k^T * scale) v of the query heads of one kv head; in[0]: q, out[0]: f32 or operand tiles.
//
// Cut by kv heads, a unit is all of a head. Where `work::cut` has several runs it may be done in
// parts instead: units from kv_heads on are the runs of every head; when all of a head's are done,
// unit h puts them together.
template <dtype KV, class Isa>
  requires requires { kv_cache<KV, Isa>::head_bytes(0u, 0u); }
struct kernel<opcode::attend, KV, Isa> {
  using core = head_attention<KV, Isa>;

  static void run(const params& p, const work& w, u32 unit) {
    if (w.by != split::kv_heads) {
      // Late tiles see the most keys: first come, longest first.
      const u32 tiles = ceil_div(w.tokens, unit_tokens), tile = tiles - 1 - unit / p.kv_heads;
      const u32 first = tile * unit_tokens, last = first + unit_tokens;
      return whole(p, w, unit % p.kv_heads, first, last < w.tokens ? last : w.tokens);
    }
    if (unit >= p.kv_heads) return part(p, w, (unit - p.kv_heads) / w.cut.count, (unit - p.kv_heads) % w.cut.count);
    if (w.cut.count > 1) return join(p, w, unit);
    whole(p, w, unit, 0, w.tokens);
  }

 private:
  static constexpr u32 most = core::max_queries;

  static attention_options options(const params& p) {
    const double usual = 1 / std::sqrt(static_cast<double>(p.head_dim));
    return {p.head_dim, p.scale.v != 0 ? float{p.scale} : static_cast<float>(usual), p.cap};
  }
  // Rows of a kv head: its query heads of one token after the other. Fills queries from row `from` on.
  static u32 ask(const params& p, const work& w, u32 h, u32 from, u32 end, attention_query (&queries)[most]) {
    const u32 group = p.heads / p.kv_heads;
    u32 n = 0;
    for (u32 i = from; i < end && n < most; ++i, ++n) {
      const u32 visible = w.position + i / group + 1;
      queries[n] = {w.in[0].row(i / group) + u64{h * group + i % group} * p.head_dim, nullptr, visible,
                    p.window < visible ? visible - p.window : 0};
    }
    return n;
  }

  CKE_OUT_OF_LINE static void whole(const params& p, const work& w, u32 h, u32 first, u32 last) {
    const u32 group = p.heads / p.kv_heads, wide = group * p.head_dim, together = group < most ? most / group : 1;
    // scratch: [tokens][group heads][head_dim], then attention's own
    float* const out = reinterpret_cast<float*>(w.scratch);
    std::byte* const inner = w.scratch + align_up(u64{together} * wide * sizeof(float));
    attention_query queries[most];
    for (u32 t = first; t < last; t += together) {
      const u32 end = t + together < last ? t + together : last;
      for (u32 from = t * group, n; from < end * group; from += n) {
        n = ask(p, w, h, from, end * group, queries);
        for (u32 i = 0; i < n; ++i) queries[i].out = out + u64{from - t * group + i} * p.head_dim;
        core::run({queries, n}, w.kv.head(h), options(p), inner);
      }
      for (u32 i = t; i < end; ++i) put<Isa>(w.out[0], w.tokens, i, h * wide, wide, out + u64{i - t} * wide);
    }
  }

  // Parts lie [kv heads][rows][runs].
  static float* part_at(const params& p, const work& w, u32 h, u32 row, u32 run) {
    const u32 rows = w.tokens * (p.heads / p.kv_heads);
    return w.parts + ((u64{h} * w.cut.count + run) * rows + row) * core::part_floats(p.head_dim);
  }
  static void part(const params& p, const work& w, u32 h, u32 run) {
    const u32 rows = w.tokens * (p.heads / p.kv_heads);
    attention_query queries[most];
    for (u32 from = 0, n; from < rows; from += n) {
      n = ask(p, w, h, from, rows, queries);
      core::prepare({queries, n}, options(p), w.scratch);
      core::part({queries, n}, w.kv.head(h), w.cut.first + run, options(p), part_at(p, w, h, from, run), w.scratch);
    }
  }
  static void join(const params& p, const work& w, u32 h) {
    const u32 group = p.heads / p.kv_heads, wide = group * p.head_dim;
    float* const out = reinterpret_cast<float*>(w.scratch);  // [group heads][head_dim], then a part
    float* const sum = out + align_up(wide, 16);
    for (u32 t = 0; t < w.tokens; ++t) {
      for (u32 g = 0; g < group; ++g) {
        const u64 apart = u64{w.tokens} * group * core::part_floats(p.head_dim);
        core::join(part_at(p, w, h, t * group + g, 0), w.cut.count, apart, p.head_dim, out + g * p.head_dim, sum);
      }
      put<Isa>(w.out[0], w.tokens, t, h * wide, wide, out);
    }
  }
};
// Bytes of `work::scratch` that attend needs: a tile of results, then attention's own.
template <dtype KV, class Isa> constexpr u64 attend_scratch(const params& p) {
  using core = head_attention<KV, Isa>;
  const u32 group = p.heads / p.kv_heads, rows = group > core::max_queries ? group : core::max_queries;
  return align_up(u64{rows} * p.head_dim * sizeof(float)) + core::workspace_bytes(p.head_dim, core::max_queries);
}
// Bytes of `work::parts`, for contexts of several runs.
template <dtype KV, class Isa> constexpr u64 attend_parts(const params& p, u32 tokens, u32 context) {
  const u32 most = ceil_div(context, run_keys);
  return most > 1 ? u64{most} * tokens * p.heads * head_attention<KV, Isa>::part_floats(p.head_dim) * sizeof(float) : 0;
}

template <dtype KV, class Isa>
  requires requires { kv_cache<KV, Isa>::head_bytes(0u, 0u); }
struct kernel<opcode::attend_quantize, KV, Isa> : kernel<opcode::attend, KV, Isa> {};

}  // namespace cke

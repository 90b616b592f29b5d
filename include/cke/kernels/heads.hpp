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
        kv_cache<KV, Isa>::store(w.kv.k + h * w.kv.head_bytes, w.kv.v + h * w.kv.head_bytes, w.position + t,
                                 p.head_dim, w.in[0].row(t) + u64{h} * p.head_dim,
                                 w.in[1].row(t) + u64{h} * p.head_dim);
  }
};

// softmax(q k^T * scale) v of the query heads of one kv head; in[0]: q, out[0]: f32 or operand tiles.
template <dtype KV, class Isa>
  requires requires { kv_cache<KV, Isa>::head_bytes(0u, 0u); }
struct kernel<opcode::attend, KV, Isa> {
  using core = attention_kernel<KV, Isa>;

  static void run(const params& p, const work& w, u32 unit) {
    if (w.by == split::kv_heads) return head(p, w, unit, 0, w.tokens);
    // Late tiles see the most keys: first come, longest first.
    const u32 tiles = ceil_div(w.tokens, unit_tokens), tile = tiles - 1 - unit / p.kv_heads;
    const u32 first = tile * unit_tokens, last = first + unit_tokens;
    head(p, w, unit % p.kv_heads, first, last < w.tokens ? last : w.tokens);
  }

 private:
  static void head(const params& p, const work& w, u32 h, u32 first, u32 last) {
    const u32 group = p.heads / p.kv_heads, wide = group * p.head_dim;
    const u32 together = group < core::max_queries ? core::max_queries / group : 1;
    for (u32 t = first; t < last; t += together)
      rows(p, w, h, group, wide, t, t + together < last ? t + together : last);
  }

  static void rows(const params& p, const work& w, u32 h, u32 group, u32 wide, u32 first, u32 last) {
    // scratch: [tokens][group heads][head_dim], then attention's own
    const u32 tokens = last - first;
    float* out = reinterpret_cast<float*>(w.scratch);
    std::byte* inner = w.scratch + align_up(u64{tokens} * wide * sizeof(float));
    attention_query queries[core::max_queries];
    for (u32 from = 0; from < tokens * group; from += core::max_queries) {
      u32 n = 0;
      for (u32 i = from; i < tokens * group && n < core::max_queries; ++i, ++n) {
        const u32 t = first + i / group, visible = w.position + t + 1;
        queries[n] = {w.in[0].row(t) + u64{h} * wide + u64{i % group} * p.head_dim,
                      out + u64{i / group} * wide + u64{i % group} * p.head_dim, visible,
                      p.window < visible ? visible - p.window : 0};
      }
      core::run({queries, n}, w.kv.k + h * w.kv.head_bytes, w.kv.v + h * w.kv.head_bytes, p.head_dim,
                p.scale.v != 0 ? float{p.scale} : static_cast<float>(1 / std::sqrt(static_cast<double>(p.head_dim))), p.cap, inner);
    }
    for (u32 t = first; t < last; ++t)
      put<Isa>(w.out[0], w.tokens, t, h * wide, wide, out + u64{t - first} * wide);
  }
};
// Bytes of `work::scratch` that attend needs: a tile of results, then attention's own.
template <dtype KV, class Isa> constexpr u64 attend_scratch(const params& p) {
  using core = attention_kernel<KV, Isa>;
  const u32 group = p.heads / p.kv_heads, rows = group > core::max_queries ? group : core::max_queries;
  return align_up(u64{rows} * p.head_dim * sizeof(float)) + core::workspace_bytes(p.head_dim, core::max_queries);
}

template <dtype KV, class Isa>
  requires requires { kv_cache<KV, Isa>::head_bytes(0u, 0u); }
struct kernel<opcode::attend_quantize, KV, Isa> : kernel<opcode::attend, KV, Isa> {};

}  // namespace cke

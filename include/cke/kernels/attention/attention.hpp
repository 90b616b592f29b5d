// SPDX-License-Identifier: MIT
// attention.hpp: softmax(q k^T) v of the queries that share one kv head, over its cache.
#pragma once

#include "../../core/exp.hpp"
#include "attention_kernel.hpp"

namespace cke::kernels {

template <dtype KV> struct attention_kernel<KV, isa::scalar> {
  using cache = kv_cache<KV, isa::scalar>;
  using parts = attention_part<isa::scalar>;
  static constexpr u32 max_queries = 32;

  static constexpr u64 workspace_bytes(u32 head_dim, u32 /*queries*/) {
    return align_up((u64{head_dim} + key_block) * sizeof(float));
  }

  static void prepare(std::span<const attention_query>, const score_options&, void*) {}
  static void part(std::span<const attention_query> queries, const kv_blocks& head, u32 run, const score_options& o,
                   float* to, void* workspace) {
    float* const q = static_cast<float*>(workspace);  // [head_dim]
    float* const p = q + o.head_dim;                  // [key_block]
    const u32 width = cache::width(o.head_dim);
    for (const attention_query& query : queries) {
      for (u32 i = 0; i < o.head_dim; ++i) q[i] = KV == dtype::bf16 ? from_bf16(to_bf16(query.q[i])) : query.q[i];
      parts::clear(to, width);
      float &m = parts::m(to, width), &l = parts::l(to, width);
      const u32 end = std::min(query.keys, (run + 1) * run_keys);
      for (u32 first = std::max(query.first, run * run_keys), last; first < end; first = last) {
        last = std::min(end, (first / key_block + 1) * key_block);
        float top = m;
        for (u32 j = first; j < last; ++j) {
          float dot = 0;
          for (u32 i = 0; i < o.head_dim; ++i) dot += q[i] * cache::key(head, j, o.head_dim, i);
          p[j - first] = o.cap != 0 ? o.cap * std::tanh(dot * o.scale / o.cap) : dot * o.scale;
          top = std::max(top, p[j - first]);
        }
        const float shrink = rounded_exp(m - top);
        m = top;
        l *= shrink;
        for (u32 i = 0; i < o.head_dim; ++i) to[i] *= shrink;
        for (u32 j = first; j < last; ++j) {
          const float e = rounded_exp(p[j - first] - m);
          l += e;
          for (u32 i = 0; i < o.head_dim; ++i) to[i] += e * cache::value(head, j, o.head_dim, i);
        }
      }
      to += parts::floats(width);
    }
  }
};

// All runs of a head by one thread, or the sum of the parts that several threads leave.
template <dtype KV, class Isa> struct head_attention : attention_kernel<KV, Isa> {
  using kernel = attention_kernel<KV, Isa>;
  using parts = typename kernel::parts;
  using kernel::max_queries;

  static constexpr u32 part_floats(u32 head_dim) { return parts::floats(kernel::cache::width(head_dim)); }
  // The area that run() uses, 64-byte aligned; `queries` at most max_queries.
  static constexpr u64 workspace_bytes(u32 head_dim, u32 queries) {
    return align_up(2 * u64{queries} * part_floats(head_dim) * sizeof(float)) +
        kernel::workspace_bytes(head_dim, queries);
  }

  static void run(std::span<const attention_query> queries, const kv_blocks& head, const score_options& o,
                  void* workspace) {
    const u32 stride = part_floats(o.head_dim), width = kernel::cache::width(o.head_dim);
    const auto n = static_cast<u32>(queries.size());
    float* const sums = static_cast<float*>(workspace);
    float* const found = sums + n * stride;
    std::byte* const rest = reinterpret_cast<std::byte*>(sums) + align_up(2 * u64{n} * stride * sizeof(float));
    u32 first = ~0u, keys = 0;
    for (u32 i = 0; i < n; ++i) {
      first = std::min(first, queries[i].first), keys = std::max(keys, queries[i].keys);
      parts::clear(sums + i * stride, width);
    }
    kernel::prepare(queries, o, rest);
    for (u32 r = first / run_keys; r * run_keys < keys; ++r) {
      kernel::part(queries, head, r, o, found, rest);
      for (u32 i = 0; i < n; ++i) parts::add(sums + i * stride, found + i * stride, width);
    }
    for (u32 i = 0; i < n; ++i) parts::end(sums + i * stride, width, o.head_dim, queries[i].out);
  }

  // The parts of one query, `stride` floats apart; workspace: one part.
  static void join(float* part, u32 count, u64 stride, u32 head_dim, float* out, float* workspace) {
    const u32 width = kernel::cache::width(head_dim);
    parts::clear(workspace, width);
    for (u32 r = 0; r < count; ++r) parts::add(workspace, part + r * stride, width);
    parts::end(workspace, width, head_dim, out);
  }
};

}  // namespace cke::kernels

// SPDX-License-Identifier: MIT
// rule_attend.hpp: gradients of attention's scores, which are computed again for some queries at a time.
#pragma once

#include "../kernels/attention/attention_steps.hpp"
#include "rule_rows.hpp"

namespace cke::train {

// in: q, k, v, where k and v may be those of an earlier layer. A unit of the way back is a kv head of a sequence: its
// query heads and their rows, some at a time, against all keys that they see.
template <> inline constexpr bool has_rule<opcode::attend> = true;
template <class Isa> struct rule<opcode::attend, Isa> {
  static constexpr u32 some = 32;  // rows of queries

  static u64 scratch_bytes(const attention_params& p, u32 rows, u32 longest) {
    const u64 scores = align_up(u64{some} * longest * sizeof(float));
    return std::max(3 * scores + gemm<Isa>::scratch_bytes,
                    kernel<opcode::attend, dtype::f32, Isa>::scratch_bytes(p, rows));
  }

  static void forward(const attention_params& p, const step_work& s, const crew& c) {
    const kv_store_params stored{p.shape.kv_heads, p.shape.head_dim};
    work store = s.w;
    store.in[0] = s.w.in[1], store.in[1] = s.w.in[2], store.in[2] = {}, store.by = split::tokens;
    c.share(ceil_div(s.w.tokens, unit_tokens),
            [&](u32 u) { kernel_of<opcode::kv_store, dtype::f32, Isa>()(params(stored), store, u); });
    c.barrier();
    work scores = s.w;
    scores.by = split::tiles, scores.scratch = c.scratch;
    c.share(units_of(params(p), split::tiles, s.w.tokens, 0, static_cast<u32>(s.w.tiles.size())),
            [&](u32 u) { kernel_of<opcode::attend, dtype::f32, Isa>()(params(p), scores, u); });
  }

  static void backward(const attention_params& p, const step_work& s, const crew& c) {
    c.share(static_cast<u32>(s.w.segments.size()) * p.shape.kv_heads, [&](u32 u) {
      const segment& of = s.w.segments[u / p.shape.kv_heads];
      const u32 kv = u % p.shape.kv_heads, group = p.shape.group();
      for (u32 h = kv * group; h < (kv + 1) * group; ++h)
        for (u32 row = 0; row < of.tokens; row += some)
          queries(p, s, of, h, kv, row, std::min(some, of.tokens - row), c.scratch);
    });
  }

 private:
  // Rows [row, row + n) of a sequence, for one head: probabilities and their slopes, [n][keys].
  static void queries(const attention_params& p, const step_work& s, const segment& of, u32 head, u32 kv, u32 row,
                      u32 n, std::byte* scratch) {
    const u32 dim = p.shape.head_dim, first = row + 1 > p.window ? row + 1 - p.window : 0, keys = row + n - first;
    const u64 room = u64{some} * s.longest;
    float* const probability = reinterpret_cast<float*>(scratch);
    float *const slope = probability + align_up(room, 16), *const capped = slope + align_up(room, 16);
    std::byte* const inner = reinterpret_cast<std::byte*>(capped + align_up(room, 16));
    const auto q = at(s.w.in[0], of, row, head * dim), k = at(s.w.in[1], of, first, kv * dim),
               v = at(s.w.in[2], of, first, kv * dim), dy = at(s.dout[0], of, row, head * dim);
    const float scale = p.scale.v != 0 ? float{p.scale} : static_cast<float>(1 / std::sqrt(double(dim)));
    const auto multiply = [&](const product& x) { gemm<Isa>::all(x, inner); };

    multiply({n, keys, dim, q.data, q.stride, 1, k.data, 1, k.stride, probability, keys, false, true});
    multiply({n, keys, dim, dy.data, dy.stride, 1, v.data, 1, v.stride, slope, keys, false, true});
    for (u32 i = 0; i < n; ++i) {
      const u32 own = row + i, low = own + 1 > p.window ? own + 1 - p.window : 0;
      float *const x = probability + u64{i} * keys, *const dx = slope + u64{i} * keys,
                   *const kept = capped + u64{i} * keys;
      softmax(x, kept, low - first, own + 1 - first, keys, scale, p.cap);
      // dy . y but for rounding. Where one probability is 1 this is exactly its dx, so that its slope is exactly 0.
      const float mean = sum_of(keys, [&](u64 j) { return x[j] * dx[j]; });
      for (u32 j = 0; j < keys; ++j) {
        const float part = p.cap.v != 0 ? kept[j] / float{p.cap} : 0.f;
        dx[j] = x[j] * (dx[j] - mean) * (1 - part * part) * scale;
      }
    }
    if (const auto dv = at(s.din[2], of, first, kv * dim); dv.data)
      multiply({keys, dim, n, probability, 1, keys, dy.data, dy.stride, 1, dv.data, dv.stride});
    if (const auto dq = at(s.din[0], of, row, head * dim); dq.data)
      multiply({n, dim, keys, slope, keys, 1, k.data, k.stride, 1, dq.data, dq.stride});
    if (const auto dk = at(s.din[1], of, first, kv * dim); dk.data)
      multiply({keys, dim, n, slope, 1, keys, q.data, q.stride, 1, dk.data, dk.stride});
  }
  struct part {
    float* data;
    u64 stride;
  };
  static part at(const view& v, const segment& of, u32 row, u32 column) {
    return {v.data ? v.row(of.first + row) + column : nullptr, v.stride};
  }
  // Scores [low, high) of a row become probabilities, the others 0; with a cap, `kept` keeps the scores.
  static void softmax(float* x, float* kept, u32 low, u32 high, u32 all, float scale, float cap) {
    std::fill(x, x + low, 0.f), std::fill(x + high, x + all, 0.f);
    for (u32 j = low; j < high; ++j) x[j] *= scale;
    if (cap != 0) {
      std::fill(kept, kept + all, 0.f);
      for (u32 j = low; j < high; ++j) x[j] = kept[j] = cap * std::tanh(x[j] / cap);
    }
    const float most = greatest_of(x + low, high - low);
    for (u32 j = low; j < high; ++j) x[j] -= most;
    exponentials(x + low, high - low);
    const float by = 1 / sum_of(high - low, [&](u64 j) { return x[low + j]; });
    for (u32 j = low; j < high; ++j) x[j] *= by;
  }
  static void exponentials(float* x, u32 n) {
    using m = pointwise_math<Isa>;
    m::each(n, [&](u32 i, u32 k) { m::put(m::exp(m::get(x + i, k)), x + i, k); });
  }
};

}  // namespace cke::train

// SPDX-License-Identifier: MIT
// rule_heads.hpp: gradients of the norm and the rope of each head.
#pragma once

#include "../kernels/attention/attention_steps.hpp"
#include "rule_linear.hpp"

namespace cke::train {

// dx += R^T dy for the rotation R of a token's head, whose numbers after the rotated ones are copied.
inline void turn_back(const rotary& r, u32 head_dim, const work& w, u32 token, u32 n, const float* dy, float* dx) {
  const u32 width = rope_width(r, head_dim), half = width / 2, quarter = width / 4;
  const segment& s = segment_of(w, token);
  const u64 at = u64{position_of(s, token)} * half;
  for (u32 i = 0; i < half; ++i) {
    const u32 a = r.pairs == pairing::adjacent ? 2 * i
        : r.pairs == pairing::split            ? i
                                               : i / quarter * half + i % quarter;
    const u32 b = a + (r.pairs == pairing::adjacent ? 1 : r.pairs == pairing::split ? half : quarter);
    const float cos = w.rope.cos[at + i], sin = w.rope.sin[at + i];
    dx[a] += dy[a] * cos + dy[b] * sin;
    dx[b] += dy[b] * cos - dy[a] * sin;
  }
  for (u32 i = width; i < n; ++i) dx[i] += dy[i];
}

template <> inline constexpr bool has_rule<opcode::head_norm> = true;
template <class Isa> struct rule<opcode::head_norm, Isa> {
  static u64 shared_bytes(const head_norm_params& p, u32 rows, u32) {
    return u64{rows} * (p.shape.heads + p.shape.kv_heads) * sizeof(float);
  }
  static constexpr bool writes_fresh = true;
  static void backward(const head_norm_params& p, const step_work& s, const crew& c, std::byte* shared) {
    float* const roots = reinterpret_cast<float*>(shared);  // [rows][heads of q, then of k]
    const u32 dim = p.shape.head_dim, all = p.shape.heads + p.shape.kv_heads;
    const auto heads = [&](u32 matrix) { return matrix == 0 ? p.shape.heads : p.shape.kv_heads; };
    c.rows(s.w.tokens, [&](u32 t) {
      for (u32 m = 0; m < 2 && s.w.in[m].data; ++m) {
        float* const dx = begun_row(s, m, t);
        for (u32 h = 0; h < heads(m); ++h)
          roots[t * all + m * p.shape.heads + h] = norm_back{s.plain[m], dim, p.eps, p.offset, 1}.row(
              s.w.in[m].row(t) + h * dim, s.dout[m].row(t) + h * dim, dx + h * dim);
      }
    });
    c.barrier();
    for (u32 m = 0; m < 2 && s.w.in[m].data; ++m) {
      if (!s.dweight[m]) continue;
      c.columns(dim, [&](u32 first, u32 end) {
        for (u32 t = 0; t < s.w.tokens; ++t)
          for (u32 h = 0; h < heads(m); ++h) {
            const float *const x = s.w.in[m].row(t) + h * dim, *const dy = s.dout[m].row(t) + h * dim,
                               r = roots[t * all + m * p.shape.heads + h];
            for (u32 i = first; i < end; ++i) s.dweight[m][i] += dy[i] * x[i] * r;
          }
      });
    }
  }
};

template <> inline constexpr bool has_rule<opcode::rope> = true;
template <class Isa> struct rule<opcode::rope, Isa> {
  static void forward(const rope_params& p, const step_work& s, const crew& c) {
    c.rows(s.w.tokens, [&](u32 t) {
      for_each_head_of(p, s, [&](u32 m, u32 at) {
        float* const y = s.w.out[m].row(t) + at;
        std::copy_n(s.w.in[m].row(t) + at, p.shape.head_dim, y);
        turn_head<Isa>(p.rope, p.shape.head_dim, s.w, t, y);
      });
    });
  }
  static constexpr bool writes_fresh = true;
  static void backward(const rope_params& p, const step_work& s, const crew& c) {
    c.rows(s.w.tokens, [&](u32 t) {
      for (u32 m = 0; m < 2 && s.w.in[m].data; ++m) begun_row(s, m, t);
      for_each_head_of(p, s, [&](u32 m, u32 at) {
        turn_back(p.rope, p.shape.head_dim, s.w, t, p.shape.head_dim, s.dout[m].row(t) + at, s.din[m].row(t) + at);
      });
    });
  }

 private:
  template <class F> static void for_each_head_of(const rope_params& p, const step_work& s, F f) {
    for (u32 m = 0; m < 2 && s.w.in[m].data; ++m)
      for (u32 h = 0; h < (m == 0 ? p.shape.heads : p.shape.kv_heads); ++h) f(m, h * p.shape.head_dim);
  }
};

}  // namespace cke::train

// SPDX-License-Identifier: MIT
// rule_rows.hpp: gradients of the steps on rows of tokens: embedding, norms, residuals, activations.
#pragma once

#include "../kernels/rows.hpp"
#include "../kernels/towers.hpp"
#include "gemm.hpp"
#include "slope.hpp"

namespace cke::train {

// The sum of f(i) for i below n, in an order that depends on n alone. f takes a u64: i + k in u32 could wrap around,
// which keeps compilers from loading neighbours together.
template <class F> float sum_of(u64 n, F&& f) {
  constexpr u64 parts = 32;
  float part[parts]{};
  u64 i = 0;
  for (; i + parts <= n; i += parts)
    for (u64 k = 0; k < parts; ++k) part[k] += f(i + k);
  for (u64 k = 0; k < n - i; ++k) part[k] += f(i + k);
  for (u64 half = parts / 2; half > 0; half /= 2)
    for (u64 k = 0; k < half; ++k) part[k] += part[k + half];
  return part[0];
}
inline float greatest_of(const float* x, u64 n) {
  constexpr u64 parts = 32;
  float part[parts];
  std::fill_n(part, parts, x[0]);
  u64 i = 0;
  for (; i + parts <= n; i += parts)
    for (u64 k = 0; k < parts; ++k) part[k] = part[k] < x[i + k] ? x[i + k] : part[k];
  for (u64 k = 0; k < n - i; ++k) part[k] = std::max(part[k], x[i + k]);
  return *std::max_element(part, part + parts);
}
inline float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }
inline void add_to(float* to, const float* from, u32 n) {
  for (u32 i = 0; i < n; ++i) to[i] += from[i];
}
// The row of an input's gradient that a rule which writes_fresh adds to.
inline float* begun_row(const step_work& s, u32 input, u32 row) {
  const view& d = s.din[input];
  if (s.fresh[input]) std::fill_n(d.row(row), d.width, 0.f);
  return d.row(row);
}

// The way back through y = x r (w + offset) scale with r = (mean(x^2) + eps)^-1/2. w null: weights of 1.
struct norm_back {
  const float* w;
  u32 n;
  float eps, offset, scale;

  // Adds to dx; returns r.
  float row(const float* x, const float* dy, float* dx) const {
    return w ? row(x, dy, dx, [&](u64 i) { return (w[i] + offset) * scale; })
             : row(x, dy, dx, [&](u64) { return scale; });
  }

 private:
  template <class F> float row(const float* x, const float* dy, float* dx, F factor) const {
    const float squares = sum_of(n, [&](u64 i) { return x[i] * x[i]; });
    const float r = 1 / std::sqrt(squares / static_cast<float>(n) + eps);
    const float along = sum_of(n, [&](u64 i) { return dy[i] * factor(i) * x[i]; }) * r * r * r / static_cast<float>(n);
    for (u32 i = 0; i < n; ++i) dx[i] += dy[i] * factor(i) * r - x[i] * along;
    return r;
  }
};

template <> inline constexpr bool has_rule<opcode::embedding> = true;
template <class Isa> struct rule<opcode::embedding, Isa> {
  static const u32* ids(const step_work& s) { return reinterpret_cast<const u32*>(s.w.in[0].data); }
  static void forward(const embedding_params& p, const step_work& s, const crew& c) {
    c.rows(s.w.tokens, [&](u32 t) { std::copy_n(s.plain[0] + u64{ids(s)[t]} * p.cols, p.cols, s.w.out[0].row(t)); });
  }
  static void backward(const embedding_params& p, const step_work& s, const crew& c) {
    if (!s.dweight[0]) return;
    c.columns(p.cols, [&](u32 first, u32 end) {
      for (u32 t = 0; t < s.w.tokens; ++t) {
        if (ids(s)[t] == s.padding) continue;
        add_to(s.dweight[0] + u64{ids(s)[t]} * p.cols + first, s.dout[0].row(t) + first, end - first);
      }
    });
  }
};

template <> inline constexpr bool has_rule<opcode::rmsnorm> = true;
template <class Isa> struct rule<opcode::rmsnorm, Isa> {
  static u64 shared_bytes(const norm_params& p, u32 rows, u32) { return u64{rows} * p.parts * sizeof(float); }
  static constexpr bool writes_fresh = true;
  static void backward(const norm_params& p, const step_work& s, const crew& c, std::byte* shared) {
    const u32 n = p.cols / p.parts;
    const float scale = p.scale.v != 0 ? float{p.scale} : 1.f;
    float* const roots = reinterpret_cast<float*>(shared);  // [rows][parts]
    c.rows(s.w.tokens, [&](u32 t) {
      float* const dx = begun_row(s, 0, t);
      for (u32 k = 0; k < p.parts; ++k)
        roots[t * p.parts + k] = norm_back{s.plain[0] + k * n, n, p.eps, p.offset, scale}.row(
            s.w.in[0].row(t) + k * n, s.dout[0].row(t) + k * n, dx + k * n);
    });
    if (!s.dweight[0]) return;
    c.barrier();
    c.columns(p.cols, [&](u32 first, u32 end) {
      for (u32 t = 0; t < s.w.tokens; ++t) {
        const float *const x = s.w.in[0].row(t), *const dy = s.dout[0].row(t), *const r = roots + t * p.parts;
        for (u32 i = first; i < end;) {
          const float by = scale * r[i / n];
          for (const u32 stop = std::min(end, (i / n + 1) * n); i < stop; ++i) s.dweight[0][i] += dy[i] * x[i] * by;
        }
      }
    });
  }
};

template <> inline constexpr bool has_rule<opcode::residual_add> = true;
template <class Isa> struct rule<opcode::residual_add, Isa> {
  static constexpr bool writes_fresh = true;
  static void backward(const row_params& p, const step_work& s, const crew& c) {
    c.rows(s.w.tokens, [&](u32 t) {
      for (u32 k = 0; k < 2; ++k)
        if (s.din[k].data) add_to(begun_row(s, k, t), s.dout[0].row(t), p.cols);
    });
  }
};

// Rows of images have no part in training: every row is a text's.
template <> inline constexpr bool has_rule<opcode::scatter> = true;
template <class Isa> struct rule<opcode::scatter, Isa> {
  static void backward(const scatter_params& p, const step_work& s, const crew& c) {
    c.rows(s.w.tokens, [&](u32 t) { add_to(s.din[0].row(t), s.dout[0].row(t), p.cols); });
  }
};

template <> inline constexpr bool has_rule<opcode::scale> = true;
template <class Isa> struct rule<opcode::scale, Isa> {
  static u64 shared_bytes(const scale_params&, u32 rows, u32) { return u64{rows} * sizeof(float); }
  static void backward(const scale_params& p, const step_work& s, const crew& c, std::byte* shared) {
    float* const sums = reinterpret_cast<float*>(shared);  // [rows]
    const float by = s.plain[0] ? *s.plain[0] : float{p.scale};
    c.rows(s.w.tokens, [&](u32 t) {
      const float *const x = s.w.in[0].row(t), *const dy = s.dout[0].row(t);
      float* const dx = s.din[0].row(t);
      for (u32 i = 0; i < p.cols; ++i) dx[i] += dy[i] * by;
      if (s.dweight[0]) sums[t] = sum_of(p.cols, [&](u64 i) { return dy[i] * x[i]; });
    });
    if (!s.dweight[0]) return;
    c.barrier();
    c.share(1, [&](u32) {
      for (u32 t = 0; t < s.w.tokens; ++t) *s.dweight[0] += sums[t];
    });
  }
};

template <> inline constexpr bool has_rule<opcode::softcap> = true;
template <class Isa> struct rule<opcode::softcap, Isa> {
  static void backward(const softcap_params& p, const step_work& s, const crew& c) {
    c.rows(s.w.tokens, [&](u32 t) {
      const float *const y = s.w.out[0].row(t), *const dy = s.dout[0].row(t), by = 1 / float{p.cap};
      float* const dx = s.din[0].row(t);
      for (u32 i = 0; i < p.cols; ++i) dx[i] += dy[i] * (1 - y[i] * by * (y[i] * by));
    });
  }
};

template <> inline constexpr bool has_rule<opcode::act> = true;
template <class Isa> struct rule<opcode::act, Isa> {
  static void backward(const act_params& p, const step_work& s, const crew& c) {
    with_activation(p.act, [&]<activation A>() {
      c.rows(s.w.tokens,
             [&](u32 t) { slope<A, Isa>::row(s.w.in[0].row(t), s.dout[0].row(t), p.cols, s.din[0].row(t)); });
    });
  }
};

// in[0] holds gate and up side by side, or in[1] is up.
template <> inline constexpr bool has_rule<opcode::act_mul> = true;
template <class Isa> struct rule<opcode::act_mul, Isa> {
  static constexpr bool writes_fresh = true;
  static void backward(const act_params& p, const step_work& s, const crew& c) {
    const bool apart = s.w.in[1].data;
    with_activation(p.act, [&]<activation A>() {
      c.rows(s.w.tokens, [&](u32 t) {
        float *const dgate = begun_row(s, 0, t), *const dup = apart ? begun_row(s, 1, t) : dgate + p.cols;
        slope<A, Isa>::gated(s.w.in[0].row(t), up_row(p, s.w, t), s.dout[0].row(t), p.cols, dgate, dup);
      });
    });
  }
};

template <> inline constexpr bool has_rule<opcode::gate_mul> = true;
template <class Isa> struct rule<opcode::gate_mul, Isa> {
  static void backward(const row_params& p, const step_work& s, const crew& c) {
    c.rows(s.w.tokens, [&](u32 t) {
      sigmoid_slope<Isa>::row(s.w.in[1].row(t), s.w.in[0].row(t), s.dout[0].row(t), p.cols, s.din[1].row(t),
                              s.din[0].row(t));
    });
  }
};

}  // namespace cke::train

// SPDX-License-Identifier: MIT
// rule_linear.hpp: matrix products forth and back, with low-rank additions to their matrices.
#pragma once

#include "../kernels/linear.hpp"
#include "rule_rows.hpp"

namespace cke::train {

// y = W x + bias and the way back, where rows of y, x and of their gradients begin.
template <class Isa> struct linear {
  u32 tokens, rows, cols;  // of W
  const float* w;
  const float* x;
  u64 x_stride;
  float* dx;  // null: not wanted, as the gradients below
  u64 dx_stride;
  bool bf16;  // factors are rounded to it

  void forward(const float* bias, float* y, u64 y_stride, const crew& c) const {
    multiply<Isa>(c, {tokens, rows, cols, x, x_stride, 1, w, 1, cols, y, y_stride, bf16, true, bias});
  }
  void add_weight_gradient(const float* dy, u64 dy_stride, float* dw, const crew& c) const {
    if (dw) multiply<Isa>(c, {rows, cols, tokens, dy, 1, dy_stride, x, x_stride, 1, dw, cols, bf16});
  }
  void add_bias_gradient(const float* dy, u64 dy_stride, float* dbias, const crew& c) const {
    if (!dbias) return;
    c.columns(rows, [&](u32 first, u32 end) {
      for (u32 t = 0; t < tokens; ++t) add_to(dbias + first, dy + t * dy_stride + first, end - first);
    });
  }
  void add_input_gradient(const float* dy, u64 dy_stride, const crew& c, bool sets = false) const {
    if (dx) multiply<Isa>(c, {tokens, cols, rows, dy, dy_stride, 1, w, cols, 1, dx, dx_stride, bf16, sets});
  }

  // The same for scale B A, which is added to W. room: [2][tokens][rank], of all threads.
  void forward(const low_rank& l, float* room, float* y, u64 y_stride, const crew& c) const {
    scaled(c, l, room, {tokens, l.rank, cols, x, x_stride, 1, l.a, 1, cols, room, l.rank, bf16, true});
    c.barrier();
    multiply<Isa>(c, {tokens, rows, l.rank, room, l.rank, 1, l.b, 1, l.rank, y, y_stride, bf16});
    c.barrier();
  }
  void backward(const low_rank& l, float* room, const float* dy, u64 dy_stride, const crew& c) const {
    float* const inner = room;                          // scale A x
    float* const dinner = room + u64{tokens} * l.rank;  // scale B^T dy
    scaled(c, l, inner, {tokens, l.rank, cols, x, x_stride, 1, l.a, 1, cols, inner, l.rank, bf16, true});
    scaled(c, l, dinner, {tokens, l.rank, rows, dy, dy_stride, 1, l.b, l.rank, 1, dinner, l.rank, bf16, true});
    c.barrier();
    multiply<Isa>(c, {l.rank, cols, tokens, dinner, 1, l.rank, x, x_stride, 1, l.da, cols, bf16});
    multiply<Isa>(c, {rows, l.rank, tokens, dy, 1, dy_stride, inner, l.rank, 1, l.db, l.rank, bf16});
    if (dx) multiply<Isa>(c, {tokens, cols, l.rank, dinner, l.rank, 1, l.a, cols, 1, dx, dx_stride, bf16});
    c.barrier();
  }

 private:
  static void scaled(const crew& c, const low_rank& l, float* to, const product& p) {
    constexpr u32 some = 48;
    c.share(ceil_div(p.m, some), [&](u32 u) {
      const u32 first = u * some, n = std::min(some, p.m - first);
      product part = p;
      part.m = n, part.a += first * p.am, part.c += first * p.cm;
      gemm<Isa>::all(part, c.scratch);
      for (u64 i = u64{first} * l.rank; i < u64{first + n} * l.rank; ++i) to[i] *= l.scale;
    });
  }
};

// One to three matrices of one shape on one input; their results are side by side.
template <class Isa> struct matmul_rule {
  static constexpr bool writes_fresh = true;
  static linear<Isa> of(const matmul_params& p, const step_work& s, u32 m) {
    return {s.w.tokens,
            p.rows,
            p.cols,
            s.plain[m],
            s.w.in[0].row(0),
            s.w.in[0].stride,
            s.din[0].data ? s.din[0].row(0) : nullptr,
            s.din[0].stride,
            s.bf16[m]};
  }
  static void forward(const matmul_params& p, const step_work& s, const crew& c) {
    for (u32 m = 0; m < p.matrices; ++m) {
      float* const y = s.w.out[0].row(0) + u64{m} * p.rows;
      of(p, s, m).forward(p.bias ? s.plain[p.matrices + m] : nullptr, y, s.w.out[0].stride, c);
      if (!s.added[m].a) continue;
      c.barrier();
      of(p, s, m).forward(s.added[m], s.low_rank_room, y, s.w.out[0].stride, c);
    }
  }
  static void backward(const matmul_params& p, const step_work& s, const crew& c) {
    const u64 stride = s.dout[0].stride;
    for (u32 m = 0; m < p.matrices; ++m) {
      const linear<Isa> back = of(p, s, m);
      const float* const dy = s.dout[0].row(0) + u64{m} * p.rows;
      if (m > 0) c.barrier();  // both add to the gradient of one input
      back.add_input_gradient(dy, stride, c, m == 0 && s.fresh[0]);
      back.add_weight_gradient(dy, stride, s.dweight[m], c);
      if (p.bias) back.add_bias_gradient(dy, stride, s.dweight[p.matrices + m], c);
      if (!s.added[m].a) continue;
      c.barrier();
      back.backward(s.added[m], s.low_rank_room, dy, stride, c);
    }
  }
};
template <> inline constexpr bool has_rule<opcode::matmul> = true;
template <> inline constexpr bool has_rule<opcode::logits> = true;
template <> inline constexpr bool has_rule<opcode::router> = true;
template <class Isa> struct rule<opcode::matmul, Isa> : matmul_rule<Isa> {};
template <class Isa> struct rule<opcode::logits, Isa> : matmul_rule<Isa> {};
template <class Isa> struct rule<opcode::router, Isa> : matmul_rule<Isa> {};

// A matrix for each head, of latent attention.
template <> inline constexpr bool has_rule<opcode::head_matmul> = true;
template <class Isa> struct rule<opcode::head_matmul, Isa> {
  static linear<Isa> of(const head_matmul_params& p, const step_work& s, u32 h) {
    const u32 row = h * s.w.tokens;
    return {s.w.tokens,
            p.rows,
            p.cols,
            s.plain[0] + u64{h} * p.rows * p.cols,
            s.w.in[0].row(row),
            s.w.in[0].stride,
            s.din[0].data ? s.din[0].row(row) : nullptr,
            s.din[0].stride,
            s.bf16[0]};
  }
  static void forward(const head_matmul_params& p, const step_work& s, const crew& c) {
    for (u32 h = 0; h < p.heads; ++h)
      of(p, s, h).forward(nullptr, s.w.out[0].row(0) + h * p.head_dim, s.w.out[0].stride, c);
  }
  static void backward(const head_matmul_params& p, const step_work& s, const crew& c) {
    for (u32 h = 0; h < p.heads; ++h) {
      const float* const dy = s.dout[0].row(0) + h * p.head_dim;
      of(p, s, h).add_input_gradient(dy, s.dout[0].stride, c);
      of(p, s, h).add_weight_gradient(dy, s.dout[0].stride,
                                      s.dweight[0] ? s.dweight[0] + u64{h} * p.rows * p.cols : nullptr, c);
    }
  }
};

}  // namespace cke::train

// SPDX-License-Identifier: MIT
// rule_linear.hpp: gradients of matrix products.
#pragma once

#include "../kernels/linear.hpp"
#include "rule_rows.hpp"

namespace cke::train {

// The way back through y = W x + bias, whose rows of y, x and of their gradients begin at these places.
struct linear_back {
  u32 tokens, rows, cols;  // of W
  const float *x, *w, *dy;
  u64 x_stride, dy_stride, dx_stride;
  float *dx, *dw, *dbias;  // null: not wanted
};
template <class Isa> void add_weight_gradient(const linear_back& p, const crew& c) {
  if (p.dw) multiply_add<Isa>(c, {p.rows, p.cols, p.tokens, p.dy, 1, p.dy_stride, p.x, p.x_stride, 1, p.dw, p.cols});
  if (p.dbias)
    c.columns(p.rows, [&](u32 first, u32 end) {
      for (u32 t = 0; t < p.tokens; ++t) add_to(p.dbias + first, p.dy + t * p.dy_stride + first, end - first);
    });
}
template <class Isa> void add_input_gradient(const linear_back& p, const crew& c) {
  if (p.dx) multiply_add<Isa>(c, {p.tokens, p.cols, p.rows, p.dy, p.dy_stride, 1, p.w, p.cols, 1, p.dx, p.dx_stride});
}

// One or two matrices of one shape on one input; their results are side by side.
template <class Isa> struct matmul_rule {
  static void backward(const matmul_params& p, const step_work& s, const crew& c) {
    for (u32 m = 0; m < p.matrices; ++m) {
      const linear_back back{s.w.tokens,       p.rows,
                             p.cols,           s.w.in[0].row(0),
                             s.plain[m],       s.dout[0].row(0) + u64{m} * p.rows,
                             s.w.in[0].stride, s.dout[0].stride,
                             s.din[0].stride,  s.din[0].data ? s.din[0].row(0) : nullptr,
                             s.dweight[m],     p.bias ? s.dweight[p.matrices + m] : nullptr};
      if (m > 0) c.barrier();  // both add to the gradient of one input
      add_input_gradient<Isa>(back, c);
      add_weight_gradient<Isa>(back, c);
    }
  }
};
template <> inline constexpr bool has_rule<opcode::matmul> = true;
template <> inline constexpr bool has_rule<opcode::logits> = true;
template <> inline constexpr bool has_rule<opcode::router> = true;
template <class Isa> struct rule<opcode::matmul, Isa> : matmul_rule<Isa> {};
template <class Isa> struct rule<opcode::logits, Isa> : matmul_rule<Isa> {};
template <class Isa> struct rule<opcode::router, Isa> : matmul_rule<Isa> {};

}  // namespace cke::train

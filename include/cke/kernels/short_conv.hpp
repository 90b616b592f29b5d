// SPDX-License-Identifier: MIT
// short_conv.hpp: causal convolutions of a few taps, each channel by itself: a state is the last inputs.
#pragma once

#include <algorithm>

#include "activation.hpp"
#include "recurrent.hpp"

namespace cke {

// y[c] = bias[c] + sum over j of w[j][c] * x at j - taps + 1, the oldest first: one chain for each of n channels.
// `past`, [taps - 1][unit_rows], holds the inputs before x, and then x; w is [taps][width].
inline void convolve(u32 taps, u32 n, const float* w, u32 width, const float* bias, float* past, const float* x, float* y) {
  float sum[unit_rows];  // nothing else points here: the loops become registers
  for (u32 c = 0; c < n; ++c) sum[c] = bias ? bias[c] : 0.f;
  for (u32 j = 0; j < taps; ++j) {
    const float *const in = j + 1 < taps ? past + j * unit_rows : x, *const weight = w + j * width;
    for (u32 c = 0; c < n; ++c) sum[c] += weight[c] * in[c];
  }
  if (taps > 1) {
    std::memmove(past, past + unit_rows, (taps - 2) * unit_rows * sizeof(float));
    std::copy_n(x, n, past + (taps - 2) * unit_rows);
  }
  std::copy_n(sum, n, y);
}

// A unit is 32 channels: f(row, first, n, conv) for each of its tokens and its channels
// [first, first + n), where conv(x, y) puts the convolution of x into y.
template <class F> void for_each_convolved(const params& p, const work& w, u32 unit, F f) {
  const u32 first = unit * unit_rows, n = std::min(unit_rows, p.rows - first), past = (p.cols - 1) * unit_rows;
  const float* const taps = reinterpret_cast<const float*>(w.weight[0]) + first;
  const float* const bias = p.bias ? reinterpret_cast<const float*>(w.weight[1]) + first : nullptr;
  for (const segment& s : w.segments)
    advance_state(w, s, u64{unit} * past, past, [&](u32 row, u32 end, float* state) {
      for (; row < end; ++row)
        f(row, first, n, [&](const float* x, float* y) { convolve(p.cols, n, taps, p.rows, bias, state, x, y); });
    });
}

// in[0]: [b | c | x] of each token; out[0] = c * conv(b * x)
template <class Isa> struct kernel<opcode::gated_conv, dtype::f32, Isa> {
  static void run(const params& p, const work& w, u32 unit) {
    for_each_convolved(p, w, unit, [&](u32 row, u32 first, u32 n, auto&& conv) {
      const float *const b = w.in[0].row(row) + first, *const c = b + p.rows, *const x = c + p.rows;
      float in[unit_rows], y[unit_rows];
      for (u32 i = 0; i < n; ++i) in[i] = b[i] * x[i];
      conv(in, y);
      float* const out = w.out[0].row(row) + first;
      for (u32 i = 0; i < n; ++i) out[i] = c[i] * y[i];
    });
  }
};

// out[0] = act(conv(in[0]))
template <class Isa> struct kernel<opcode::causal_conv, dtype::f32, Isa> {
  template <activation A> static void run(const params& p, const work& w, u32 unit) {
    for_each_convolved(p, w, unit, [&](u32 row, u32 first, u32 n, auto&& conv) {
      float* const out = w.out[0].row(row) + first;
      conv(w.in[0].row(row) + first, out);
      activate<A, Isa>::row(out, n, out);
    });
  }
};

}  // namespace cke

// SPDX-License-Identifier: MIT
// rule_conv.hpp: gradients of causal convolutions.
#pragma once

#include "../kernels/short_conv.hpp"
#include "rule_rows.hpp"

namespace cke::train {

// Channels [first, end) of a convolution over a sequence: put_in(row) is the value that the taps see, and slope(row,
// channel, sum) the gradient of the sum of a row. Adds to the gradients of taps and bias, and calls take(row, channel,
// gradient of the value).
template <class In, class Slope, class Take>
void convolve_back(const conv_params& p, const step_work& s, const segment& of, u32 first, u32 end, In in, Slope slope,
                   Take take) {
  for (u32 t = 0; t < of.tokens; ++t) {
    const u32 row = of.first + t;
    for (u32 ch = first; ch < end; ++ch) {
      float sum = p.bias ? s.plain[1][ch] : 0;
      for (u32 j = 0; j < p.taps; ++j)
        if (t + j + 1 >= p.taps) sum += s.plain[0][j * p.channels + ch] * in(row + j + 1 - p.taps, ch);
      const float d = slope(row, ch, sum);
      for (u32 j = 0; j < p.taps; ++j) {
        if (t + j + 1 < p.taps) continue;
        const u32 from = row + j + 1 - p.taps;
        if (s.dweight[0]) s.dweight[0][j * p.channels + ch] += d * in(from, ch);
        take(from, ch, d * s.plain[0][j * p.channels + ch]);
      }
      if (p.bias && s.dweight[1]) s.dweight[1][ch] += d;
    }
  }
}

template <> inline constexpr bool has_rule<opcode::causal_conv> = true;
template <class Isa> struct rule<opcode::causal_conv, Isa> {
  static void backward(const conv_act_params& p, const step_work& s, const crew& c) {
    with_activation(p.act, [&]<activation A>() {
      c.columns(p.conv.channels, [&](u32 first, u32 end) {
        for (const segment& of : s.w.segments)
          convolve_back(
              p.conv, s, of, first, end, [&](u32 row, u32 ch) { return s.w.in[0].row(row)[ch]; },
              [&](u32 row, u32 ch, float sum) {
                float y, d;
                slope<A, isa::scalar>::of(sum, y, d);
                return s.dout[0].row(row)[ch] * d;
              },
              [&](u32 row, u32 ch, float d) { s.din[0].row(row)[ch] += d; });
      });
    });
  }
};

// in: [b | c | x]; out = c * conv(b * x)
template <> inline constexpr bool has_rule<opcode::gated_conv> = true;
template <class Isa> struct rule<opcode::gated_conv, Isa> {
  static void backward(const conv_params& p, const step_work& s, const crew& c) {
    const u32 n = p.channels;
    const auto in = [&](u32 row, u32 part) { return s.w.in[0].row(row) + part * n; };
    const auto din = [&](u32 row, u32 part) { return s.din[0].row(row) + part * n; };
    c.columns(n, [&](u32 first, u32 end) {
      for (const segment& of : s.w.segments)
        convolve_back(
            p, s, of, first, end, [&](u32 row, u32 ch) { return in(row, 0)[ch] * in(row, 2)[ch]; },
            [&](u32 row, u32 ch, float sum) {
              const float d = s.dout[0].row(row)[ch];
              din(row, 1)[ch] += d * sum;
              return d * in(row, 1)[ch];
            },
            [&](u32 row, u32 ch, float d) {
              din(row, 0)[ch] += d * in(row, 2)[ch], din(row, 2)[ch] += d * in(row, 0)[ch];
            });
    });
  }
};

}  // namespace cke::train

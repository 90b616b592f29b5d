// SPDX-License-Identifier: MIT
// short_conv.hpp: causal convolutions of a few taps, each channel by itself; the state is the last inputs.
#pragma once

#include <algorithm>

#include "activation.hpp"
#include "recurrent.hpp"

namespace cke::kernels {

// The window of some tokens: the inputs before them, then their own; and the taps.
constexpr u64 conv_scratch(const conv_params& p) {
  return (u64{2} * p.taps + tokens_together) * unit_rows * sizeof(float);
}

// Convolves 32 channels [first, first + n) for some tokens at a time. `window` holds the inputs before them, then their
// own.
//   y[c] = bias[c] + sum over j of w[j][c] * x[c] of token - taps + 1 + j, the oldest first: one chain for each
//   channel.
// put_in(row, first, n, x) fills all 32 inputs of a token; take(row, first, n, y) receives the outputs.
template <class Isa> struct conv_unit {
  using columns = some_columns<Isa>;
  using type = typename columns::type;
  static constexpr u32 parts = unit_rows / columns::count;

  template <class In, class Out> static void run(const conv_params& p, const work& w, u32 unit, In put_in, Out take) {
    const u32 first = unit * unit_rows, n = std::min(unit_rows, p.channels - first), before = (p.taps - 1) * unit_rows;
    float *const taps = reinterpret_cast<float*>(w.scratch), *const window = taps + p.taps * unit_rows;
    for (u32 j = 0; j < p.taps; ++j)
      copy_columns(reinterpret_cast<const float*>(w.weight[0]) + j * p.channels + first, n, taps + j * unit_rows);
    float bias[unit_rows]{}, y[unit_rows];
    if (p.bias) copy_columns(reinterpret_cast<const float*>(w.weight[1]) + first, n, bias);
    for (const segment& s : w.segments)
      advance_state(w, s, u64{unit} * before, before, [&](u32 row, u32 end, float* state) {
        for (u32 count; row < end; row += count) {
          count = std::min(end - row, tokens_together);
          std::copy_n(state, before, window);
          for (u32 t = 0; t < count; ++t) put_in(row + t, first, n, window + before + t * unit_rows);
          for (u32 t = 0; t < count; ++t) {
            convolve(p.taps, taps, bias, window + t * unit_rows, y);
            take(row + t, first, n, y);
          }
          std::copy_n(window + count * unit_rows, before, state);
        }
      });
  }

 private:
  static void convolve(u32 taps, const float* w, const float* bias, const float* x, float* y) {
    type sum[parts];
    for (u32 c = 0; c < parts; ++c) sum[c] = columns::load(bias + c * columns::count);
    for (u32 j = 0; j < taps; ++j)
      for (u32 c = 0; c < parts; ++c) {
        const u32 at = j * unit_rows + c * columns::count;
        sum[c] = sum[c] + columns::load(w + at) * columns::load(x + at);
      }
    for (u32 c = 0; c < parts; ++c) columns::store(sum[c], y + c * columns::count);
  }
};

// in[0]: [b | c | x] of each token; out[0] = c * conv(b * x)
template <class Isa> struct kernel<opcode::gated_conv, dtype::f32, Isa> {
  static constexpr u64 scratch_bytes(const conv_params& p, u32) { return conv_scratch(p); }

  static void run(const conv_params& p, const work& w, u32 unit) {
    conv_unit<Isa>::run(
        p, w, unit,
        [&](u32 row, u32 first, u32 n, float* to) {
          const float *const b = w.in[0].row(row) + first, *const x = b + 2 * p.channels;
          for (u32 i = 0; i < n; ++i) to[i] = b[i] * x[i];
          std::fill(to + n, to + unit_rows, 0.f);
        },
        [&](u32 row, u32 first, u32 n, const float* y) {
          const float* const c = w.in[0].row(row) + p.channels + first;
          float* const out = w.out[0].row(row) + first;
          for (u32 i = 0; i < n; ++i) out[i] = c[i] * y[i];
        });
  }
};

// out[0] = act(conv(in[0]))
template <class Isa> struct kernel<opcode::causal_conv, dtype::f32, Isa> {
  static constexpr u64 scratch_bytes(const conv_act_params& p, u32) { return conv_scratch(p.conv); }

  template <activation A> static void run(const conv_act_params& p, const work& w, u32 unit) {
    conv_unit<Isa>::run(
        p.conv, w, unit, [&](u32 row, u32 first, u32 n, float* to) { copy_columns(w.in[0].row(row) + first, n, to); },
        [&](u32 row, u32 first, u32 n, const float* y) { activate<A, Isa>::row(y, n, w.out[0].row(row) + first); });
  }
};

}  // namespace cke::kernels

// SPDX-License-Identifier: MIT
// state_scan.hpp: mamba2's selective scan, token by token: each head has a state of numbers x dims.
#pragma once

#include <algorithm>
#include <cmath>

#include "activation.hpp"
#include "recurrent.hpp"

namespace cke::kernels {

// One token and unit_rows columns of a state s, [numbers][unit_rows]: s <- decay s + b x, y = s^T c.
template <class Isa> void scan_step(u32 numbers, float decay, const float* b, const float* c, const float* x, float* s,
                                    float* y) {
  using columns = some_columns<Isa>;
  using type = typename columns::type;
  constexpr u32 parts = unit_rows / columns::count;
  type in[parts], out[parts];
  for (u32 k = 0; k < parts; ++k) in[k] = columns::load(x + k * columns::count), out[k] = type(0.f);
  for (u32 i = 0; i < numbers; ++i)
    for (u32 k = 0; k < parts; ++k) {
      float* const at = s + i * unit_rows + k * columns::count;
      const type next = type(decay) * columns::load(at) + type(b[i]) * in[k];
      columns::store(next, at);
      out[k] = out[k] + next * type(c[i]);
    }
  for (u32 k = 0; k < parts; ++k) columns::store(out[k], y + k * columns::count);
}

// in: x, [heads][dims], then B and C of each group, [groups][numbers]; the gate, [heads][dims]; the step of each head.
// weight: decay, step_bias and skip, [heads]. Steps are at least p.least_step, and at most p.most_step unless it is 0.
// A unit is a head; its state lies in blocks of 32 dims, and a block stays in the cache for some tokens.
template <class Isa> struct kernel<opcode::state_scan, dtype::f32, Isa> {
  static void run(const scan_params& p, const work& w, u32 unit) {
    for_some_tokens(p.state, p.head_dim, w, unit,
                    [&](u32 row, u32 count, float* state) { some_tokens(p, w, unit, row, count, state); });
  }

 private:
  static void some_tokens(const scan_params& p, const work& w, u32 head, u32 row, u32 count, float* state) {
    const u32 numbers = p.state, dims = p.head_dim, group = head / (p.heads / p.groups);
    const u32 b_at = p.heads * dims + group * numbers, c_at = b_at + p.groups * numbers;
    float step[tokens_together], decay[tokens_together];
    for (u32 t = 0; t < count; ++t) {
      const float at_least =
          std::max(softplus(w.in[2].row(row + t)[head] + vector_of(w, 1)[head]), float{p.least_step});
      step[t] = p.most_step.v != 0 ? std::min(at_least, float{p.most_step}) : at_least;
      decay[t] = std::exp(-std::exp(vector_of(w, 0)[head]) * step[t]);
    }
    const float skip = vector_of(w, 2)[head];
    for (u32 first = 0; first < dims; first += unit_rows, state += u64{numbers} * unit_rows) {
      const u32 n = std::min(unit_rows, dims - first);
      for (u32 t = 0; t < count; ++t) {
        const float *const in = w.in[0].row(row + t), *const x = in + head * dims + first;
        float scaled[unit_rows]{}, y[unit_rows];
        for (u32 i = 0; i < n; ++i) scaled[i] = step[t] * x[i];
        scan_step<Isa>(numbers, decay[t], in + b_at, in + c_at, scaled, state, y);
        for (u32 i = 0; i < n; ++i) y[i] += skip * x[i];
        activate<activation::silu, Isa>::gated(w.in[1].row(row + t) + head * dims + first, y, n,
                                               w.out[0].row(row + t) + head * dims + first);
      }
    }
  }
};

}  // namespace cke::kernels

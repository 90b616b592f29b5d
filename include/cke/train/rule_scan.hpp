// SPDX-License-Identifier: MIT
// rule_scan.hpp: gradients of mamba2's selective scan.
#pragma once

#include "../kernels/state_scan.hpp"
#include "kept_states.hpp"
#include "rule_rows.hpp"

namespace cke::train {

// s <- decay s + b (step x)^T; y = s^T c + skip x; out = y * silu(gate). A unit is a group, whose heads share b and c.
template <> inline constexpr bool has_rule<opcode::state_scan> = true;
template <class Isa> struct rule<opcode::state_scan, Isa> {
  static u64 state_floats(const scan_params& p) { return u64{p.state} * p.head_dim; }
  static u64 scratch_bytes(const scan_params& p, u32, u32 longest) {
    return kept_states::bytes(state_floats(p), longest) +
        (state_floats(p) + 2 * u64{p.head_dim} + 3 * u64{longest}) * sizeof(float);
  }
  static void backward(const scan_params& p, const step_work& s, const crew& c) {
    const u32 of_group = p.heads / p.groups;
    c.share(p.groups, [&](u32 group) {
      for (const segment& of : s.w.segments)
        for (u32 head = group * of_group; head < (group + 1) * of_group; ++head)
          sequence(p, s, of, head, group, reinterpret_cast<float*>(c.scratch));
    });
  }

 private:
  static void sequence(const scan_params& p, const step_work& s, const segment& of, u32 head, u32 group,
                       float* memory) {
    const u32 numbers = p.state, dims = p.head_dim, n = of.tokens;
    const u32 x_at = head * dims, b_at = p.heads * dims + group * numbers, c_at = b_at + p.groups * numbers;
    const u64 floats = state_floats(p);
    float* const ds = memory + kept_states::bytes(floats, s.longest) / sizeof(float);
    float *const dy = ds + floats, *const dscaled = dy + dims;
    float* const steps = dscaled + dims;  // [tokens][step, decay, whether the step was limited]
    const float rate = -std::exp(s.plain[0][head]), skip = s.plain[2][head];
    const auto in = [&](u32 t) { return s.w.in[0].row(of.first + t); };
    const auto din = [&](u32 t) { return s.din[0].row(of.first + t); };
    const auto raw = [&](u32 t) { return s.w.in[2].row(of.first + t)[head] + s.plain[1][head]; };
    for (u32 t = 0; t < n; ++t) {
      const float free = softplus(raw(t)), low = std::max(free, float{p.least_step});
      const float step = p.most_step.v != 0 ? std::min(low, float{p.most_step}) : low;
      steps[3 * t] = step, steps[3 * t + 1] = std::exp(rate * step), steps[3 * t + 2] = step != free;
    }
    const auto advance = [&](u32 t, const float* before, float* after) {
      for (u32 i = 0; i < numbers; ++i)
        for (u32 j = 0; j < dims; ++j)
          after[u64{i} * dims + j] =
              steps[3 * t + 1] * before[u64{i} * dims + j] + in(t)[b_at + i] * (steps[3 * t] * in(t)[x_at + j]);
    };
    std::fill_n(ds, floats, 0.f);
    kept_states::walk(n, floats, memory, advance, [&](u32 t, const float* before, const float* after) {
      const float *const x = in(t) + x_at, *const b = in(t) + b_at, *const c = in(t) + c_at;
      const float *const gate = s.w.in[1].row(of.first + t) + x_at, *const dout = s.dout[0].row(of.first + t) + x_at;
      float *const dx = din(t) + x_at, *const dgate = s.din[1].row(of.first + t) + x_at;
      const float step = steps[3 * t], decay = steps[3 * t + 1];
      float* const y = dscaled;  // they have one room, one after the other
      for (u32 j = 0; j < dims; ++j) y[j] = skip * x[j];
      for (u32 i = 0; i < numbers; ++i)
        for (u32 j = 0; j < dims; ++j) y[j] += after[u64{i} * dims + j] * c[i];
      for (u32 j = 0; j < dims; ++j) {
        const float open = sigmoid(gate[j]);
        dgate[j] += dout[j] * y[j] * open * (1 + gate[j] * (1 - open));
        dy[j] = dout[j] * gate[j] * open, dscaled[j] = 0;
        dx[j] += skip * dy[j];
      }
      if (s.dweight[2]) s.dweight[2][head] += sum_of(dims, [&](u64 j) { return dy[j] * x[j]; });
      float of_decay = 0;
      for (u32 i = 0; i < numbers; ++i) {
        float* const row = ds + u64{i} * dims;
        const float *const now = after + u64{i} * dims, *const was = before + u64{i} * dims;
        din(t)[c_at + i] += sum_of(dims, [&](u64 j) { return now[j] * dy[j]; });
        for (u32 j = 0; j < dims; ++j) row[j] += c[i] * dy[j], dscaled[j] += row[j] * b[i];
        din(t)[b_at + i] += step * sum_of(dims, [&](u64 j) { return row[j] * x[j]; });
        of_decay += sum_of(dims, [&](u64 j) { return row[j] * was[j]; });
        for (u32 j = 0; j < dims; ++j) row[j] *= decay;
      }
      const float slope = of_decay * decay;  // of the decay's logarithm, rate * step
      float dstep = slope * rate + sum_of(dims, [&](u64 j) { return dscaled[j] * x[j]; });
      for (u32 j = 0; j < dims; ++j) dx[j] += step * dscaled[j];
      if (s.dweight[0]) s.dweight[0][head] += slope * rate * step;
      dstep = steps[3 * t + 2] != 0 ? 0 : dstep * sigmoid(raw(t));
      if (s.dweight[1]) s.dweight[1][head] += dstep;
      s.din[2].row(of.first + t)[head] += dstep;
    });
  }
};

}  // namespace cke::train

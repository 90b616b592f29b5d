// SPDX-License-Identifier: MIT
// rule_delta.hpp: gradients of the gated delta rule.
#pragma once

#include "../kernels/gated_delta.hpp"
#include "kept_states.hpp"
#include "rule_rows.hpp"

namespace cke::train {

// s <- decay s + k e^T with e = beta (v - decay s^T k); y = s^T q; out = norm(y) * silu(gate). q and k are normed
// heads. A unit is a key head and all value heads that use it.
template <> inline constexpr bool has_rule<opcode::gated_delta> = true;
template <class Isa> struct rule<opcode::gated_delta, Isa> {
  static u64 state_floats(const delta_params& p) { return u64{p.key_dim} * p.value_dim; }
  static u64 scratch_bytes(const delta_params& p, u32, u32 longest) {
    const u64 of_token = 4 * u64{p.key_dim} + 2 * u64{p.value_dim} + 4;
    return kept_states::bytes(state_floats(p), longest) +
        (state_floats(p) + 4 * u64{p.value_dim} + longest * of_token) * sizeof(float);
  }
  static u64 shared_bytes(const delta_params& p, u32 rows, u32) {  // y before the norm, and the roots of the norm
    return u64{rows} * p.value_heads * (p.value_dim + 1) * sizeof(float);
  }

  static void backward(const delta_params& p, const step_work& s, const crew& c, std::byte* shared) {
    float* const sums = reinterpret_cast<float*>(shared);                       // [rows][value heads][value_dim]
    float* const roots = sums + u64{s.w.tokens} * p.value_heads * p.value_dim;  // [rows][value heads]
    c.share(p.key_heads, [&](u32 key_head) {
      for (const segment& of : s.w.segments)
        for (u32 head = 0; head < p.value_heads; ++head)
          if (p.key_head(head) == key_head) sequence(p, s, of, head, reinterpret_cast<float*>(c.scratch), sums, roots);
    });
    if (!s.dweight[2]) return;
    c.barrier();
    c.columns(p.value_dim, [&](u32 first, u32 end) {
      for (u32 t = 0; t < s.w.tokens; ++t)
        for (u32 h = 0; h < p.value_heads; ++h) {
          const u64 at = u64{t} * p.value_heads + h;
          for (u32 i = first; i < end; ++i) {
            const float gate = s.w.in[3].row(t)[h * p.value_dim + i];
            s.dweight[2][i] +=
                s.dout[0].row(t)[h * p.value_dim + i] * gate * sigmoid(gate) * sums[at * p.value_dim + i] * roots[at];
          }
        }
    });
  }

 private:
  static void sequence(const delta_params& p, const step_work& s, const segment& of, u32 head, float* memory,
                       float* sums, float* roots) {
    const u32 keys = p.key_dim, values = p.value_dim, n = of.tokens, key_head = p.key_head(head);
    const u64 floats = state_floats(p);
    float* const states = memory;
    float* const ds = states + kept_states::bytes(floats, s.longest) / sizeof(float);  // of the state
    float *const e = ds + floats, *const de = e + values, *const known = de + values, *const dknown = known + values;
    float* const q = dknown + values;           // [tokens][keys], normed
    float* const k = q + u64{n} * keys;         // likewise
    float* const dq = k + u64{n} * keys;        // [tokens][keys]
    float* const dk = dq + u64{n} * keys;       // likewise
    float* const y = dk + u64{n} * keys;        // [tokens][values]
    float* const dy = y + u64{n} * values;      // likewise
    float* const rates = dy + u64{n} * values;  // [tokens][decay, beta, their gradients]
    const float rate = -std::exp(s.plain[0][head]), by_q = 1 / std::sqrt(float(keys));
    const auto x = [&](u32 i, u32 t, u32 column) { return s.w.in[i].row(of.first + t) + column; };
    const auto dx = [&](u32 i, u32 t, u32 column) { return s.din[i].row(of.first + t) + column; };
    // A head of q or k over its length; `root` is 1 / length.
    const auto length = [&](const float* from) {
      return 1 / std::sqrt(sum_of(keys, [&](u64 i) { return from[i] * from[i]; }) + 1e-6f);
    };
    const auto step_of = [&](u32 t) { return *x(4, t, head) + s.plain[1][head]; };
    for (u32 t = 0; t < n; ++t) {
      const float *const from_q = x(0, t, key_head * keys), *const from_k = x(1, t, key_head * keys);
      const float root_q = length(from_q), root_k = length(from_k);
      for (u32 i = 0; i < keys; ++i) q[t * keys + i] = from_q[i] * root_q * by_q, k[t * keys + i] = from_k[i] * root_k;
      rates[4 * t] = std::exp(rate * softplus(step_of(t))), rates[4 * t + 1] = sigmoid(*x(4, t, p.value_heads + head));
      rates[4 * t + 2] = rates[4 * t + 3] = 0;
    }
    std::fill_n(dq, u64{n} * keys, 0.f), std::fill_n(dk, u64{n} * keys, 0.f);
    // known = state^T k of before, e = beta (v - decay known)
    const auto ask = [&](u32 t, const float* before) {
      const float decay = rates[4 * t], beta = rates[4 * t + 1], *const v = x(2, t, head * values);
      std::fill_n(known, values, 0.f);
      for (u32 i = 0; i < keys; ++i)
        for (u32 j = 0; j < values; ++j) known[j] += before[u64{i} * values + j] * k[t * keys + i];
      for (u32 j = 0; j < values; ++j) e[j] = beta * (v[j] - decay * known[j]);
    };
    const auto advance = [&](u32 t, const float* before, float* after) {
      ask(t, before);
      for (u32 i = 0; i < keys; ++i)
        for (u32 j = 0; j < values; ++j)
          after[u64{i} * values + j] = rates[4 * t] * before[u64{i} * values + j] + k[t * keys + i] * e[j];
    };
    const auto read = [&](u32 t, const float* after) {
      std::fill_n(y + t * values, values, 0.f);
      for (u32 i = 0; i < keys; ++i)
        for (u32 j = 0; j < values; ++j) y[t * values + j] += after[u64{i} * values + j] * q[t * keys + i];
    };
    // The gradient of y, through the gate and the norm.
    const auto read_back = [&](u32 t) {
      float* const d = dy + t * values;
      const float *const gate = x(3, t, head * values), *const dout = s.dout[0].row(of.first + t) + head * values;
      float* const dgate = dx(3, t, head * values);
      const float r = 1 /
          std::sqrt(sum_of(values, [&](u64 j) { return y[t * values + j] * y[t * values + j]; }) /
                        static_cast<float>(values) +
                    p.eps);
      for (u32 j = 0; j < values; ++j) {
        const float open = sigmoid(gate[j]), normed = y[t * values + j] * r * s.plain[2][j];
        dgate[j] += dout[j] * normed * open * (1 + gate[j] * (1 - open));
        d[j] = dout[j] * gate[j] * open * s.plain[2][j];  // of y r
      }
      const float along =
          sum_of(values, [&](u64 j) { return d[j] * y[t * values + j]; }) * r * r * r / static_cast<float>(values);
      for (u32 j = 0; j < values; ++j) d[j] = d[j] * r - y[t * values + j] * along;
      const u64 row = u64{of.first + t} * p.value_heads + head;
      std::copy_n(y + t * values, values, sums + row * values);
      roots[row] = r;
    };
    std::fill_n(ds, floats, 0.f);
    kept_states::walk(n, floats, states, advance, [&](u32 t, const float* before, const float* after) {
      const float decay = rates[4 * t], beta = rates[4 * t + 1], *const v = x(2, t, head * values);
      read(t, after), read_back(t), ask(t, before);
      const float* const d = dy + t * values;
      std::fill_n(de, values, 0.f);
      for (u32 i = 0; i < keys; ++i) {
        float *const row = ds + u64{i} * values, of_q = 0, of_k = 0;
        const float* const now = after + u64{i} * values;
        for (u32 j = 0; j < values; ++j) {
          row[j] += q[t * keys + i] * d[j];
          de[j] += row[j] * k[t * keys + i];
        }
        of_q = sum_of(values, [&](u64 j) { return now[j] * d[j]; });
        of_k = sum_of(values, [&](u64 j) { return row[j] * e[j]; });
        dq[t * keys + i] += of_q, dk[t * keys + i] += of_k;
      }
      float of_beta = 0, of_decay = 0;
      for (u32 j = 0; j < values; ++j) {
        of_beta += de[j] * (v[j] - decay * known[j]);
        dx(2, t, head * values)[j] += beta * de[j];
        dknown[j] = -beta * decay * de[j];
        of_decay -= beta * de[j] * known[j];
      }
      for (u32 i = 0; i < keys; ++i) {
        const float* const was = before + u64{i} * values;
        float* const row = ds + u64{i} * values;
        of_decay += sum_of(values, [&](u64 j) { return row[j] * was[j]; });
        dk[t * keys + i] += sum_of(values, [&](u64 j) { return was[j] * dknown[j]; });
        for (u32 j = 0; j < values; ++j) row[j] = decay * row[j] + k[t * keys + i] * dknown[j];
      }
      rates[4 * t + 2] = of_decay, rates[4 * t + 3] = of_beta;
    });
    for (u32 t = 0; t < n; ++t) {
      const float step = softplus(step_of(t)), slope = rates[4 * t + 2] * rates[4 * t];  // of the decay's logarithm
      const float dstep = slope * rate * sigmoid(step_of(t)), beta = rates[4 * t + 1];
      if (s.dweight[0]) s.dweight[0][head] += slope * rate * step;
      if (s.dweight[1]) s.dweight[1][head] += dstep;
      *dx(4, t, head) += dstep;
      *dx(4, t, p.value_heads + head) += rates[4 * t + 3] * beta * (1 - beta);
      for (const u32 which : {0u, 1u}) {
        const float *const from = x(which, t, key_head * keys), *const d = (which == 0 ? dq : dk) + t * keys;
        const float root = length(from), by = which == 0 ? by_q : 1.f;
        const float along = sum_of(keys, [&](u64 i) { return d[i] * from[i]; }) * root * root * root * by;
        float* const to = dx(which, t, key_head * keys);
        for (u32 i = 0; i < keys; ++i) to[i] += d[i] * root * by - from[i] * along;
      }
    }
  }
};

}  // namespace cke::train

// SPDX-License-Identifier: MIT
// rule_recurrent.hpp: gradients of the steps with a recurrent state: convolutions, the gated delta rule, mamba2's scan.
//
// On the way back a state is needed after the states that follow it. It is kept at every `apart` tokens, and those in
// between are computed again.
#pragma once

#include "../kernels/gated_delta.hpp"
#include "../kernels/short_conv.hpp"
#include "../kernels/state_scan.hpp"
#include "rule_rows.hpp"

namespace cke::train {

// ---- convolutions ----------------------------------------------------------------------------------

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

// ---- states ----------------------------------------------------------------------------------------

// Walks a sequence forth and back with a state of `floats` numbers: advance(t, before, after) computes the state after
// token t, and retreat(t, before, after) is then called for falling t. Memory: bytes(floats, longest).
struct kept_states {
  static constexpr u32 apart = 16;
  static u64 bytes(u64 floats, u32 longest) { return (ceil_div(longest, apart) + apart + 1) * floats * sizeof(float); }
  template <class Advance, class Retreat>
  static void walk(u32 tokens, u64 floats, float* memory, Advance advance, Retreat retreat) {
    const u32 runs = ceil_div(tokens, apart);
    float* const within = memory + runs * floats;  // [apart + 1] states: before and after each token of a run
    std::fill_n(within, floats, 0.f);
    for (u32 run = 0; run < runs; ++run) {
      std::copy_n(within, floats, memory + run * floats);
      if (run + 1 == runs) break;
      for (u32 k = 0; k < apart; ++k) {
        float *const before = within + (k % 2) * floats, *const after = within + ((k + 1) % 2) * floats;
        advance(run * apart + k, before, after);
      }
      static_assert(apart % 2 == 0);  // the last state is where the first was
    }
    for (u32 run = runs; run-- > 0;) {
      const u32 first = run * apart, n = std::min(apart, tokens - first);
      std::copy_n(memory + run * floats, floats, within);
      for (u32 k = 0; k < n; ++k) advance(first + k, within + k * floats, within + (k + 1) * floats);
      for (u32 k = n; k-- > 0;) retreat(first + k, within + k * floats, within + (k + 1) * floats);
    }
  }
};

inline float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

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
      return 1 / std::sqrt(sum_of(keys, [&](u32 i) { return from[i] * from[i]; }) + 1e-6f);
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
          std::sqrt(sum_of(values, [&](u32 j) { return y[t * values + j] * y[t * values + j]; }) /
                        static_cast<float>(values) +
                    p.eps);
      for (u32 j = 0; j < values; ++j) {
        const float open = sigmoid(gate[j]), normed = y[t * values + j] * r * s.plain[2][j];
        dgate[j] += dout[j] * normed * open * (1 + gate[j] * (1 - open));
        d[j] = dout[j] * gate[j] * open * s.plain[2][j];  // of y r
      }
      const float along =
          sum_of(values, [&](u32 j) { return d[j] * y[t * values + j]; }) * r * r * r / static_cast<float>(values);
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
        of_q = sum_of(values, [&](u32 j) { return now[j] * d[j]; });
        of_k = sum_of(values, [&](u32 j) { return row[j] * e[j]; });
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
        of_decay += sum_of(values, [&](u32 j) { return row[j] * was[j]; });
        dk[t * keys + i] += sum_of(values, [&](u32 j) { return was[j] * dknown[j]; });
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
        const float along = sum_of(keys, [&](u32 i) { return d[i] * from[i]; }) * root * root * root * by;
        float* const to = dx(which, t, key_head * keys);
        for (u32 i = 0; i < keys; ++i) to[i] += d[i] * root * by - from[i] * along;
      }
    }
  }
};

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
      for (u32 j = 0; j < dims; ++j) dscaled[j] = skip * x[j];  // y, for now
      for (u32 i = 0; i < numbers; ++i)
        for (u32 j = 0; j < dims; ++j) dscaled[j] += after[u64{i} * dims + j] * c[i];
      for (u32 j = 0; j < dims; ++j) {
        const float open = sigmoid(gate[j]);
        dgate[j] += dout[j] * dscaled[j] * open * (1 + gate[j] * (1 - open));
        dy[j] = dout[j] * gate[j] * open, dscaled[j] = 0;
        dx[j] += skip * dy[j];
      }
      if (s.dweight[2]) s.dweight[2][head] += sum_of(dims, [&](u32 j) { return dy[j] * x[j]; });
      float of_decay = 0;
      for (u32 i = 0; i < numbers; ++i) {
        float* const row = ds + u64{i} * dims;
        const float *const now = after + u64{i} * dims, *const was = before + u64{i} * dims;
        din(t)[c_at + i] += sum_of(dims, [&](u32 j) { return now[j] * dy[j]; });
        for (u32 j = 0; j < dims; ++j) row[j] += c[i] * dy[j], dscaled[j] += row[j] * b[i];
        din(t)[b_at + i] += step * sum_of(dims, [&](u32 j) { return row[j] * x[j]; });
        of_decay += sum_of(dims, [&](u32 j) { return row[j] * was[j]; });
        for (u32 j = 0; j < dims; ++j) row[j] *= decay;
      }
      const float slope = of_decay * decay;  // of the decay's logarithm, rate * step
      float dstep = slope * rate + sum_of(dims, [&](u32 j) { return dscaled[j] * x[j]; });
      for (u32 j = 0; j < dims; ++j) dx[j] += step * dscaled[j];
      if (s.dweight[0]) s.dweight[0][head] += slope * rate * step;
      dstep = steps[3 * t + 2] != 0 ? 0 : dstep * sigmoid(raw(t));
      if (s.dweight[1]) s.dweight[1][head] += dstep;
      s.din[2].row(of.first + t)[head] += dstep;
    });
  }
};

}  // namespace cke::train

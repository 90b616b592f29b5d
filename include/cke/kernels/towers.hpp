// SPDX-License-Identifier: MIT
// towers.hpp: the steps of vision towers on rows of patches: layer norms, learned positions, rows that become one.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "layer_norm.hpp"
#include "store_row.hpp"

namespace cke::kernels {

// weight[0]: weights, weight[1]: biases, [cols] each.
template <class Isa> void layer_norm_row(const norm_params& p, const work& w, u32 token, float* out) {
  layer_norm_kernel<Isa>::row(w.in[0].row(token), reinterpret_cast<const float*>(w.weight[0]),
                              reinterpret_cast<const float*>(w.weight[1]), p.cols, p.eps, out);
}
template <class Isa> struct kernel<opcode::layer_norm, dtype::f32, Isa> {
  static void run(const norm_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    for (u32 t = first; t < last; ++t) layer_norm_row<Isa>(p, w, t, w.out[0].row(t));
  }
};
template <class Isa> struct kernel<opcode::layer_norm_quantize, dtype::f32, Isa> {
  static constexpr u64 scratch_bytes(const norm_params& p, u32) { return u64{p.cols} * sizeof(float); }

  static void run(const norm_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    float* row = reinterpret_cast<float*>(w.scratch);  // [cols]
    for (u32 t = first; t < last; ++t) {
      layer_norm_row<Isa>(p, w, t, row);
      store_row<Isa>(w.out[0], w.tokens, t, 0, p.cols, row);
    }
  }
};

// x * by + offset
template <class Isa> struct kernel<opcode::affine, dtype::f32, Isa> {
  static void run(const affine_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    const float by = p.by, offset = p.offset;
    for (u32 t = first; t < last; ++t) {
      const float* const x = w.in[0].row(t);
      float* const out = w.out[0].row(t);
      for (u32 i = 0; i < p.cols; ++i) out[i] = std::fma(x[i], by, offset);
    }
  }
};

// (x - bias) * scale; weight[0]: bias, weight[1]: scale, [cols] each.
template <class Isa> struct kernel<opcode::standardise, dtype::f32, Isa> {
  static void run(const row_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    const auto *const bias = reinterpret_cast<const float*>(w.weight[0]),
                      *const scale = reinterpret_cast<const float*>(w.weight[1]);
    for (u32 t = first; t < last; ++t) {
      const float* const x = w.in[0].row(t);
      float* const out = w.out[0].row(t);
      for (u32 i = 0; i < p.cols; ++i) out[i] = (x[i] - bias[i]) * scale[i];
    }
  }
};

// min(max(x, low), high), where weight[0] is low and weight[1] is high; a NaN stays one.
template <class Isa> struct kernel<opcode::clamp, dtype::f32, Isa> {
  static void run(const row_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    const float low = *reinterpret_cast<const float*>(w.weight[0]), high = *reinterpret_cast<const float*>(w.weight[1]);
    for (u32 t = first; t < last; ++t) {
      const float* const x = w.in[0].row(t);
      float* const out = w.out[0].row(t);
      for (u32 i = 0; i < p.cols; ++i) {
        const float raised = x[i] < low ? low : x[i];
        out[i] = raised > high ? high : raised;
      }
    }
  }
};

// out = x + the rows of the table that the row's place in the grid names, each times its weight, one after the other.
template <class Isa> struct kernel<opcode::learned_positions, dtype::f32, Isa> {
  static void run(const positions_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    const float* const table = reinterpret_cast<const float*>(w.weight[0]);  // [rows][cols]
    const table_rows& at = w.positions;
    for (u32 t = first; t < last; ++t) {
      const float* x = w.in[0].row(t);
      float* const out = w.out[0].row(t);
      for (u32 k = 0; k < at.count; ++k, x = out) {
        const float by = at.weight[u64{t} * at.count + k];
        const float* const row = table + u64{at.index[u64{t} * at.count + k]} * p.cols;
        for (u32 i = 0; i < p.cols; ++i) out[i] = std::fma(row[i], by, x[i]);
      }
    }
  }
};

// in[0], out[0]: the stream, in place; out[1]: the parts for the first layers, zeros where there are none.
template <class Isa> struct kernel<opcode::scatter, dtype::f32, Isa> {
  static void run(const scatter_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    const u64 bytes = u64{p.cols} * sizeof(float);
    for (u32 t = first; t < last; ++t) {
      const float* const from = w.features ? w.features[t] : nullptr;
      if (from) std::memcpy(w.out[0].row(t), from, bytes);
      else if (w.out[0].row(t) != w.in[0].row(t)) std::memcpy(w.out[0].row(t), w.in[0].row(t), bytes);
      if (p.parts == 0) continue;
      if (from) std::memcpy(w.out[1].row(t), from + p.cols, p.parts * bytes);
      else std::memset(w.out[1].row(t), 0, p.parts * bytes);
    }
  }
};

// Row t of the result is rows [t * by, (t + 1) * by) one after the other, or column by column.
template <class Isa> struct kernel<opcode::spatial_merge, dtype::f32, Isa> {
  static void run(const merge_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    for (u32 t = first; t < last; ++t)
      for (u32 k = 0; k < p.by; ++k) {
        const float* const x = w.in[0].row(t * p.by + k);
        float* const out = w.out[0].row(t);
        if (p.interleaved)
          for (u32 i = 0; i < p.cols; ++i) out[i * p.by + k] = x[i];
        else std::memcpy(out + u64{k} * p.cols, x, u64{p.cols} * sizeof(float));
      }
  }
};

// Row t of the result is the mean of rows [t * by, (t + 1) * by), added in this order.
template <class Isa> struct kernel<opcode::average_pool, dtype::f32, Isa> {
  static void run(const merge_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    const float by = 1.f / static_cast<float>(p.by);
    for (u32 t = first; t < last; ++t) {
      float* const out = w.out[0].row(t);
      std::memcpy(out, w.in[0].row(t * p.by), u64{p.cols} * sizeof(float));
      for (u32 k = 1; k < p.by; ++k) {
        const float* const x = w.in[0].row(t * p.by + k);
        for (u32 i = 0; i < p.cols; ++i) out[i] += x[i];
      }
      for (u32 i = 0; i < p.cols; ++i) out[i] *= by;
    }
  }
};

// Row t of the result is row (t + 1) * by - 1.
template <class Isa> struct kernel<opcode::last_row, dtype::f32, Isa> {
  static void run(const merge_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    for (u32 t = first; t < last; ++t)
      std::memcpy(w.out[0].row(t), w.in[0].row((t + 1) * p.by - 1), u64{p.cols} * sizeof(float));
  }
};

// weight[0]: the row.
template <class Isa> struct kernel<opcode::learned_row, dtype::f32, Isa> {
  static void run(const row_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    for (u32 t = first; t < last; ++t) std::memcpy(w.out[0].row(t), w.weight[0], u64{p.cols} * sizeof(float));
  }
};

// in[0]: q, a row for each run of `by` rows of in[1], keys, and in[2], values.
template <class Isa> struct kernel<opcode::attention_pool, dtype::f32, Isa> {
  static constexpr u64 scratch_bytes(const pool_params& p, u32) { return u64{p.by} * sizeof(float); }

  static void run(const pool_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    float* const share = reinterpret_cast<float*>(w.scratch);  // [by]
    const float scale = 1.f / std::sqrt(static_cast<float>(p.head_dim));
    for (u32 t = first; t < last; ++t)
      for (u32 h = 0; h < p.heads; ++h) {
        const u64 at = u64{h} * p.head_dim, row = u64{t} * p.by;
        const float* const q = w.in[0].row(t) + at;
        float most = -std::numeric_limits<float>::infinity();
        for (u32 j = 0; j < p.by; ++j) {
          const float* const k = w.in[1].row(static_cast<u32>(row + j)) + at;
          float dot = 0;
          for (u32 i = 0; i < p.head_dim; ++i) dot += q[i] * k[i];
          share[j] = dot * scale;
          most = share[j] > most ? share[j] : most;
        }
        float sum = 0;
        for (u32 j = 0; j < p.by; ++j) sum += share[j] = std::exp(share[j] - most);
        float* const out = w.out[0].row(t) + at;
        std::memset(out, 0, u64{p.head_dim} * sizeof(float));
        for (u32 j = 0; j < p.by; ++j) {
          const float* const v = w.in[2].row(static_cast<u32>(row + j)) + at;
          const float by = share[j] / sum;
          for (u32 i = 0; i < p.head_dim; ++i) out[i] = std::fma(v[i], by, out[i]);
        }
      }
  }
};

}  // namespace cke::kernels

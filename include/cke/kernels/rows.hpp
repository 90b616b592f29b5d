// SPDX-License-Identifier: MIT
// rows.hpp: the steps that work on rows of tokens: embedding, norms, residuals, activations.
#pragma once

#include <cstring>

#include "activation.hpp"
#include "formats/packed_bf16.hpp"
#include "kernel.hpp"
#include "rms_norm.hpp"
#include "store_row.hpp"

namespace cke::kernels {

template <dtype T, class Isa>
  requires requires { kernels::packed<T, Isa>::unit_bytes(0u); }
struct kernel<opcode::embedding, T, Isa> {
  static void run(const embedding_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    const u32* ids = reinterpret_cast<const u32*>(w.in[0].data);
    for (u32 t = first; t < last; ++t) {
      const std::byte* rows = w.weight[0] + u64{ids[t] / unit_rows} * kernels::packed<T, Isa>::unit_bytes(p.cols);
      kernels::packed<T, Isa>::unpack_row(rows, ids[t] % unit_rows, p.cols, w.out[0].row(t));
    }
  }
};

// Norms a whole row, or each of its p.parts equal parts by itself.
template <class Isa> void norm_row(const norm_params& p, const work& w, u32 token, float* out) {
  const u32 n = p.cols / p.parts;
  for (u32 at = 0; at < p.cols; at += n)
    rms_norm_kernel<Isa>::row(w.in[0].row(token) + at, reinterpret_cast<const float*>(w.weight[0]) + at, n, p.eps,
                              p.offset, out + at);
  if (p.scale.v != 0)
    for (u32 i = 0; i < p.cols; ++i) out[i] *= float{p.scale};
}
template <class Isa> struct kernel<opcode::rmsnorm, dtype::f32, Isa> {
  static void run(const norm_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    for (u32 t = first; t < last; ++t) norm_row<Isa>(p, w, t, w.out[0].row(t));
  }
};

template <class Isa> struct kernel<opcode::quantize, dtype::f32, Isa> {
  static void run(const row_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    for (u32 t = first; t < last; ++t) store_row<Isa>(w.out[0], w.tokens, t, 0, p.cols, w.in[0].row(t));
  }
};

template <class Isa> struct kernel<opcode::norm_quantize, dtype::f32, Isa> {
  static constexpr u64 scratch_bytes(const norm_params& p, u32) { return u64{p.cols} * sizeof(float); }

  static void run(const norm_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    float* row = reinterpret_cast<float*>(w.scratch);  // [cols]
    for (u32 t = first; t < last; ++t) {
      norm_row<Isa>(p, w, t, row);
      store_row<Isa>(w.out[0], w.tokens, t, 0, p.cols, row);
    }
  }
};

template <class Isa> struct kernel<opcode::residual_save, dtype::f32, Isa> {
  static void run(const row_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    for (u32 t = first; t < last; ++t) std::memcpy(w.out[0].row(t), w.in[0].row(t), u64{p.cols} * sizeof(float));
  }
};

template <class Isa> struct kernel<opcode::residual_add, dtype::f32, Isa> {
  static void run(const row_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    for (u32 t = first; t < last; ++t) {
      const float *a = w.in[0].row(t), *b = w.in[1].row(t);
      float* out = w.out[0].row(t);
      for (u32 i = 0; i < p.cols; ++i) out[i] = a[i] + b[i];
    }
  }
};

template <class Isa> struct kernel<opcode::scale, dtype::f32, Isa> {
  static void run(const scale_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    for (u32 t = first; t < last; ++t) {
      const float *in = w.in[0].row(t),
                  by = w.weight[0] ? *reinterpret_cast<const float*>(w.weight[0]) : float{p.scale};
      float* out = w.out[0].row(t);
      for (u32 i = 0; i < p.cols; ++i) out[i] = in[i] * by;
    }
  }
};

template <class Isa> struct kernel<opcode::softcap, dtype::f32, Isa> {
  static void run(const softcap_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    for (u32 t = first; t < last; ++t) capped<Isa>::row(w.in[0].row(t), p.cap, p.cols, w.out[0].row(t));
  }
};

// in[0] * sigmoid(in[1])
template <class Isa> struct kernel<opcode::gate_mul, dtype::f32, Isa> {
  static void run(const row_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    for (u32 t = first; t < last; ++t) sigmoid_gated<Isa>::row(w.in[1].row(t), w.in[0].row(t), p.cols, w.out[0].row(t));
  }
};

template <class Isa> struct kernel<opcode::act, dtype::f32, Isa> {
  template <activation A> static void run(const act_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    for (u32 t = first; t < last; ++t) activate<A, Isa>::row(w.in[0].row(t), p.cols, w.out[0].row(t));
  }
};

// in[0] holds gate and up side by side, or in[1] is up.
inline const float* up_row(const act_params& p, const work& w, u32 token) {
  return w.in[1].data ? w.in[1].row(token) : w.in[0].row(token) + p.cols;
}
template <class Isa> struct kernel<opcode::act_mul, dtype::f32, Isa> {
  template <activation A> static void run(const act_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    for (u32 t = first; t < last; ++t)
      activate<A, Isa>::gated(w.in[0].row(t), up_row(p, w, t), p.cols, w.out[0].row(t));
  }
};

template <class Isa> struct kernel<opcode::act_mul_quantize, dtype::f32, Isa> {
  static constexpr u64 scratch_bytes(const act_params& p, u32) { return u64{p.cols} * sizeof(float); }

  template <activation A> static void run(const act_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    float* row = reinterpret_cast<float*>(w.scratch);  // [cols]
    for (u32 t = first; t < last; ++t) {
      activate<A, Isa>::gated(w.in[0].row(t), up_row(p, w, t), p.cols, row);
      store_row<Isa>(w.out[0], w.tokens, t, 0, p.cols, row);
    }
  }
};

}  // namespace cke::kernels

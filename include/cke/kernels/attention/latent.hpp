// SPDX-License-Identifier: MIT
// latent.hpp: the steps of latent attention around the scores: the cached key of a token, and each head's matrices.
#pragma once

#include <cstring>

#include "../experts.hpp"
#include "attention_steps.hpp"

namespace cke::kernels {

// in[0]: [latent | key to rotate]; out: the normed latent and the rotated rest: the one key of all heads.
template <class Isa> struct kernel<opcode::latent_key, dtype::f32, Isa> {
  static void run(const latent_key_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    for (u32 t = first; t < last; ++t) {
      const float* const in = w.in[0].row(t);
      float* const out = w.out[0].row(t);
      rms_norm_kernel<Isa>::row(in, reinterpret_cast<const float*>(w.weight[0]), p.rank, p.eps, 0, out);
      std::copy_n(in + p.rank, p.rope.dims, out + p.rank);
      turn_head<Isa>(p.rope, p.rope.dims, w, t, out + p.rank);
    }
  }
};

// The first p.cols of each head of in[0], p.head_dim apart, become rows (head, token) of out[0], the input of each
// head's matrix. With a rope, the numbers after them are rotated and end the head's part of out[1].
template <class Isa> struct kernel<opcode::split_heads, dtype::f32, Isa> {
  static void run(const split_heads_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    for (u32 h = 0; h < p.heads; ++h) {
      const view rows = from_row<Isa>(w.out[0], h * w.tokens);
      for (u32 t = first; t < last; ++t) {
        const float* const in = w.in[0].row(t) + u64{h} * p.head_dim;
        store_row<Isa>(rows, w.tokens, t, 0, p.cols, in);
        if (!w.out[1].data) continue;
        float* const turned = w.out[1].row(t) + u64{h + 1} * (w.out[1].width / p.heads) - p.rope.dims;
        std::copy_n(in + p.cols, p.rope.dims, turned);
        turn_head<Isa>(p.rope, p.rope.dims, w, t, turned);
      }
    }
  }
};

// A unit is rows of one head's matrix, times that head's rows of in[0]; heads of out[0] are p.head_dim apart.
template <dtype T, class Isa>
  requires multiplies<Isa, T>
struct kernel<opcode::head_matmul, T, Isa> {
  static void run(const head_matmul_params& p, const work& w, u32 unit) {
    const u32 units = units_of_group(p.rows), h = unit / units;
    work mine = w;
    mine.in[0] = from_row<Isa>(w.in[0], h * w.tokens);
    mine.out[0].data += u64{h} * p.head_dim * sizeof(float);
    multiply<T, Isa>(mine, 0, unit, p.cols, [&](u32 first, u32 count, const float* tile) {
      store_tile<false>(mine.out[0], mine.tokens, nullptr, rows_of_unit(p.rows, unit % units), first, count, tile);
    });
  }
};

}  // namespace cke::kernels

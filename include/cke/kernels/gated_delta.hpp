// SPDX-License-Identifier: MIT
// gated_delta.hpp: the gated delta rule, token by token: a state of keys x values for each value head.
#pragma once

#include <algorithm>
#include <cmath>

#include "activation.hpp"
#include "recurrent.hpp"
#include "rms_norm.hpp"

namespace cke {

// One token and unit_rows columns of a state s, [keys][unit_rows]: s <- decay s, s <- s + k e with
// e = beta (v - s^T k), out = s^T q. The decay is applied when s is written.
template <class Isa>
void delta_step(u32 keys, float decay, float beta, const float* q, const float* k, const float* v, float* s, float* out) {
  using columns = some_columns<Isa>;
  using type = typename columns::type;
  constexpr u32 parts = unit_rows / columns::count;
  type known[parts], e[parts], y[parts];
  for (u32 c = 0; c < parts; ++c) known[c] = y[c] = type(0.f);
  for (u32 i = 0; i < keys; ++i)
    for (u32 c = 0; c < parts; ++c) known[c] = known[c] + columns::load(s + i * unit_rows + c * columns::count) * type(k[i]);
  for (u32 c = 0; c < parts; ++c) e[c] = type(beta) * (columns::load(v + c * columns::count) - type(decay) * known[c]);
  for (u32 i = 0; i < keys; ++i)
    for (u32 c = 0; c < parts; ++c) {
      float* const at = s + i * unit_rows + c * columns::count;
      const type next = type(decay) * columns::load(at) + type(k[i]) * e[c];
      columns::store(next, at);
      y[c] = y[c] + next * type(q[i]);
    }
  for (u32 c = 0; c < parts; ++c) columns::store(y[c], out + c * columns::count);
}

// in: q and k, [key heads][keys], v and the gate, [value heads][values], and alpha and beta of each value head,
// side by side. weight: decay and step_bias, [value heads], and the norm, [values]. A unit is a value head; its
// state lies in blocks of 32 columns, and a block stays in the cache for some tokens.
template <class Isa> struct kernel<opcode::gated_delta, dtype::f32, Isa> {
  static u64 scratch_bytes(const params& p) { return u64{tokens_together} * (2 * p.head_dim + 2) * sizeof(float); }

  static void run(const params& p, const work& w, u32 unit) {
    for_some_tokens(p, w, unit, [&](u32 row, u32 count, float* state) { some_tokens(p, w, unit, row, count, state); });
  }

 private:
  static void some_tokens(const params& p, const work& w, u32 head, u32 row, u32 count, float* state) {
    const u32 keys = p.head_dim, values = p.rows, key_head = p.tiled ? head % p.heads : head / (p.kv_heads / p.heads);
    float* const qk = reinterpret_cast<float*>(w.scratch);  // [count][q, k]
    float* const rates = qk + u64{tokens_together} * 2 * keys;  // [count][decay, beta]
    for (u32 t = 0; t < count; ++t) {
      const float inverse = 1.f / static_cast<float>(keys), root = std::sqrt(inverse);
      for (const u32 which : {0u, 1u}) {
        float* const x = qk + (2 * t + which) * keys;
        rms_norm_kernel<Isa>::row(w.in[which].row(row + t) + key_head * keys, nullptr, keys, 1e-6f * inverse, 0, x);
        for (u32 i = 0; i < keys; ++i) x[i] *= which == 0 ? inverse : root;  // of length keys^1/2 until here
      }
      const float alpha = w.in[4].row(row + t)[head] + vector_of(w, 1)[head], beta = w.in[4].row(row + t)[p.kv_heads + head];
      rates[2 * t] = std::exp(-std::exp(vector_of(w, 0)[head]) * softplus(alpha)), rates[2 * t + 1] = 1 / (1 + std::exp(-beta));
    }
    for (u32 first = 0; first < values; first += unit_rows, state += u64{keys} * unit_rows) {
      const u32 n = std::min(unit_rows, values - first);
      for (u32 t = 0; t < count; ++t) {
        float v[unit_rows]{}, y[unit_rows];
        std::copy_n(w.in[2].row(row + t) + head * values + first, n, v);
        delta_step<Isa>(keys, rates[2 * t], rates[2 * t + 1], qk + 2 * t * keys, qk + (2 * t + 1) * keys, v, state, y);
        std::copy_n(y, n, w.out[0].row(row + t) + head * values + first);
      }
    }
    for (u32 t = 0; t < count; ++t) {
      float* const y = w.out[0].row(row + t) + head * values;
      rms_norm_kernel<Isa>::row(y, vector_of(w, 2), values, p.eps, 0, y);
      activate<activation::silu, Isa>::gated(w.in[3].row(row + t) + head * values, y, values, y);
    }
  }
};

}  // namespace cke

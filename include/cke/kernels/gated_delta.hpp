// SPDX-License-Identifier: MIT
// gated_delta.hpp: the gated delta rule, token by token: a state of keys x values for each value head.
#pragma once

#include <algorithm>
#include <cmath>

#include "activation.hpp"
#include "recurrent.hpp"
#include "rms_norm.hpp"

namespace cke::kernels {

// unit_rows columns of a state s, [keys][unit_rows], updated by one token after the other.
template <class Isa> struct delta_columns {
  using columns = some_columns<Isa>;
  using type = typename columns::type;
  static constexpr u32 parts = unit_rows / columns::count;
  type known[parts];  // s^T k of the next token

  void ask(u32 keys, const float* k, const float* s) {
    for (u32 c = 0; c < parts; ++c) known[c] = type(0.f);
    for (u32 i = 0; i < keys; ++i)
      for (u32 c = 0; c < parts; ++c) known[c] = known[c] + columns::load(at(s, i, c)) * type(k[i]);
  }

  // s <- decay s + k e with e = beta (v - decay known); y = s^T q. If a token follows, the same pass over s computes
  // s^T next_k.
  template <bool Follows>
  void tell(u32 keys, float decay, float beta, const float* q, const float* k, const float* v, float* s, float* y,
            const float* next_k) {
    const type keep(decay);
    type e[parts], out[parts], next[parts];
    for (u32 c = 0; c < parts; ++c) {
      e[c] = type(beta) * (columns::load(v + c * columns::count) - keep * known[c]);
      out[c] = next[c] = type(0.f);
    }
    for (u32 i = 0; i < keys; ++i) {
      const type ki(k[i]), qi(q[i]);
      for (u32 c = 0; c < parts; ++c) {
        const type now = keep * columns::load(at(s, i, c)) + ki * e[c];
        columns::store(now, at(s, i, c));
        out[c] = out[c] + now * qi;
        if constexpr (Follows) next[c] = next[c] + now * type(next_k[i]);
      }
    }
    for (u32 c = 0; c < parts; ++c) columns::store(out[c], y + c * columns::count), known[c] = next[c];
  }

 private:
  CKE_INLINE static auto* at(auto* s, u32 i, u32 c) { return s + i * unit_rows + c * columns::count; }
};

// in: q and k, [key heads][keys], v and the gate, [value heads][values], and alpha and beta of each value head,
// side by side. weight: decay and step_bias, [value heads], and the norm, [values]. A unit is a value head; its
// state lies in blocks of 32 columns, and a block stays in the cache for some tokens.
template <class Isa> struct kernel<opcode::gated_delta, dtype::f32, Isa> {
  static constexpr u64 scratch_bytes(const delta_params& p, u32) {
    return u64{tokens_together} * (2 * p.key_dim + 2) * sizeof(float);
  }

  static void run(const delta_params& p, const work& w, u32 unit) {
    for_some_tokens(p.key_dim, p.value_dim, w, unit,
                    [&](u32 row, u32 count, float* state) { some_tokens(p, w, unit, row, count, state); });
  }

 private:
  static void some_tokens(const delta_params& p, const work& w, u32 head, u32 row, u32 count, float* state) {
    const u32 keys = p.key_dim, values = p.value_dim, key_head = p.key_head(head);
    float* const qk = reinterpret_cast<float*>(w.scratch);      // [count][q, k]
    float* const rates = qk + u64{tokens_together} * 2 * keys;  // [count][decay, beta]
    for (u32 t = 0; t < count; ++t) {
      const float inverse = 1.f / static_cast<float>(keys), root = std::sqrt(inverse);
      for (const u32 which : {0u, 1u}) {
        float* const x = qk + (2 * t + which) * keys;
        rms_norm_kernel<Isa>::row(w.in[which].row(row + t) + key_head * keys, nullptr, keys, 1e-6f * inverse, 0, x);
        for (u32 i = 0; i < keys; ++i) x[i] *= which == 0 ? inverse : root;  // x had length keys^1/2
      }
      const float alpha = w.in[4].row(row + t)[head] + vector_of(w, 1)[head],
                  beta = w.in[4].row(row + t)[p.value_heads + head];
      rates[2 * t] = std::exp(-std::exp(vector_of(w, 0)[head]) * softplus(alpha)),
                rates[2 * t + 1] = 1 / (1 + std::exp(-beta));
    }
    for (u32 first = 0; first < values; first += unit_rows, state += u64{keys} * unit_rows) {
      const u32 n = std::min(unit_rows, values - first);
      float v[tokens_together][unit_rows], y[unit_rows];
      for (u32 t = 0; t < count; ++t)
        copy_columns(w.in[2].row(row + t) + head * values + first, n, v[t]);  // from afar, all at once
      delta_columns<Isa> block;
      block.ask(keys, qk + keys, state);
      for (u32 t = 0; t < count; ++t) {
        const float *const q = qk + 2 * t * keys, *const k = q + keys, decay = rates[2 * t], beta = rates[2 * t + 1];
        if (t + 1 < count) block.template tell<true>(keys, decay, beta, q, k, v[t], state, y, k + 2 * keys);
        else block.template tell<false>(keys, decay, beta, q, k, v[t], state, y, nullptr);
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

}  // namespace cke::kernels

// SPDX-License-Identifier: MIT
// rule_latent.hpp: gradients of the steps of latent attention around the scores.
#pragma once

#include "../kernels/attention/latent.hpp"
#include "rule_heads.hpp"

namespace cke::train {

template <> inline constexpr bool has_rule<opcode::latent_key> = true;
template <class Isa> struct rule<opcode::latent_key, Isa> {
  static u64 shared_bytes(const latent_key_params&, u32 rows, u32) { return u64{rows} * sizeof(float); }
  static void backward(const latent_key_params& p, const step_work& s, const crew& c, std::byte* shared) {
    float* const roots = reinterpret_cast<float*>(shared);  // [rows]
    c.rows(s.w.tokens, [&](u32 t) {
      const float* const dy = s.dout[0].row(t);
      float* const dx = s.din[0].row(t);
      roots[t] = norm_back{s.plain[0], p.rank, p.eps, 0, 1}.row(s.w.in[0].row(t), dy, dx);
      turn_back(p.rope, p.rope.dims, s.w, t, p.rope.dims, dy + p.rank, dx + p.rank);
    });
    if (!s.dweight[0]) return;
    c.barrier();
    c.columns(p.rank, [&](u32 first, u32 end) {
      for (u32 t = 0; t < s.w.tokens; ++t)
        for (u32 i = first; i < end; ++i) s.dweight[0][i] += s.dout[0].row(t)[i] * s.w.in[0].row(t)[i] * roots[t];
    });
  }
};

template <> inline constexpr bool has_rule<opcode::split_heads> = true;
template <class Isa> struct rule<opcode::split_heads, Isa> {
  static void backward(const split_heads_params& p, const step_work& s, const crew& c) {
    c.rows(s.w.tokens, [&](u32 t) {
      for (u32 h = 0; h < p.heads; ++h) {
        float* const dx = s.din[0].row(t) + h * p.head_dim;
        add_to(dx, s.dout[0].row(h * s.w.tokens + t), p.cols);
        if (p.rope.dims)
          turn_back(p.rope, p.rope.dims, s.w, t, p.rope.dims,
                    s.dout[1].row(t) + (h + 1) * (s.dout[1].width / p.heads) - p.rope.dims, dx + p.cols);
      }
    });
  }
};

}  // namespace cke::train

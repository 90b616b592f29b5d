// SPDX-License-Identifier: MIT
// lower_latent.hpp: latent attention as straight-line code.
#pragma once

#include "lower.hpp"

namespace cke::graph {

// Each head's matrices of the latent are applied to its query and after its scores: q k = (k_b q) latent + turned, and
// sum p v = v_b (sum p latent). So all heads share one key and value, [latent | turned], in prefill as in decode.
template <latent_attention_options S> struct lower<latent_attention<S>> {
  static constexpr u32 head = S.nope + S.rope.dims, kept = S.kv_rank + S.rope.dims;

  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::mla_attention);
    const reg q = S.q_rank ? b.matmul(role::q_b, low(b, x), S.heads * head, S.q_rank)
                           : b.matmul(role::q, x, S.heads * head, S.dim);
    const reg of_token = b.matmul(role::kv_a, x, kept, S.dim), key = b.temp(kept), query = b.temp(S.heads * kept),
              y = b.temp(S.heads * kept);
    b.emit<opcode::latent_key>({of_token}, {key}, {b.vector(role::kv_a_norm, S.kv_rank)},
                               {.rank = S.kv_rank, .eps = S.eps, .rope = S.rope});
    by_head(b, role::k_b, S.kv_rank, q, query, {.heads = S.heads, .head_dim = head, .cols = S.nope, .rope = S.rope});
    b.emit<opcode::attend>({query, key, key}, {y}, {}, {.shape = {S.heads, 1, kept}, .scale = S.scale}).state =
        b.state({keeps_what::kv, lifecycle::slot_persistent, everything, 1, kept});
    const reg values = b.temp(S.heads * S.value);
    by_head(b, role::v_b, S.value, y, values, {.heads = S.heads, .head_dim = kept, .cols = S.kv_rank});
    return b.matmul(role::o, values, S.dim, S.heads * S.value);
  }
  static constexpr reg low(builder& b, reg x) {
    const reg a = b.matmul(role::q_a, x, S.q_rank, S.dim), y = b.temp(S.q_rank);
    b.emit<opcode::rmsnorm>({a}, {y}, {b.vector(role::q_a_norm, S.q_rank)}, {.cols = S.q_rank, .eps = S.eps});
    return y;
  }
  // The first p.cols of each head of x, times that head's matrix, begin each head of y; with a rope the turned rest
  // ends it.
  static constexpr void by_head(builder& b, role is, u32 rows_of_head, reg x, reg y, const split_heads_params& p) {
    const u8 matrix = b.matrix(is, S.heads * rows_of_head, p.cols, rows_of_head);
    const reg rows = b.temp(p.cols, info(b.formats[matrix]).partner, S.heads);
    operands parts{rows};
    if (p.rope.dims) parts.add(y);
    b.emit<opcode::split_heads>({x}, parts, {}, p);
    b.emit<opcode::head_matmul>(
        {rows}, {y}, {matrix},
        {.heads = S.heads, .rows = rows_of_head, .cols = p.cols, .head_dim = b.regs[y].width / S.heads});
  }
};

}  // namespace cke::graph

// SPDX-License-Identifier: MIT
// lower_experts.hpp: a mixture of experts as straight-line code.
#pragma once

#include "lower.hpp"

namespace cke::graph {

// From `gather` on, steps work on rows (token, expert), expert by expert: `order` lists these rows.
template <moe_options S> struct lower<moe<S>> {
  static constexpr router r = S.route;

  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::moe);
    reg shared{}, shared_gate{};  // the shared expert's hidden row, and its gate's logit
    u8 down_shared{};
    if (S.shared) {
      const reg h =
          S.ungated ? lower<plain_mlp<S.dim, S.shared, S.act, S.bias>>::activated(b, role::up_shared, x) : gated(b, x);
      down_shared = b.matrix(role::down_shared, S.dim, S.shared);
      shared = b.operand(h, down_shared);
    }
    reg scored = x;
    if (S.router_norm.v > 0) {
      scored = b.temp(S.dim);
      b.emit<opcode::rmsnorm>({stream}, {scored}, {b.vector(role::router_norm, S.dim)},
                              {.cols = S.dim, .eps = S.router_norm, .scale = 1 / root(S.dim)});
    }
    const reg scores = score(b, role::router, scored, r.experts);
    if (S.shared_gate) shared_gate = score(b, role::shared_gate, x, 1);
    const reg chosen = b.temp(2 * r.active), order = b.temp(4 * r.active);
    slots8 vectors{};
    if (r.bias) vectors.add(b.vector(role::router_bias, r.experts));
    if (r.expert_scale) vectors.add(b.vector(role::expert_scale, r.experts));
    b.emit<opcode::route>({scores}, {chosen}, vectors, {r});
    b.emit<opcode::sort_by_expert>({chosen}, {order}, {}, {r});
    slots8 gate_up{};
    if (!S.ungated) gate_up.add(matrices(b, role::gate_experts, S.hidden, S.width()));
    gate_up.add(matrices(b, role::up_experts, S.hidden, S.width()));
    const u8 down = matrices(b, role::down_experts, S.width(), S.hidden);
    operands in{order};
    const reg y_shared = S.shared ? b.temp(S.dim) : reg{};
    if (S.shared) {  // placed here, no step has to wait for it
      slots8 w{down_shared};
      if (S.bias) w.add(b.vector(role::down_shared, S.dim, true));
      b.emit<opcode::matmul>({shared}, {y_shared}, w, {.rows = S.dim, .cols = S.shared, .bias = S.bias});
    }
    const reg read = S.latent ? b.matmul(role::latent_down, x, S.latent, S.dim, S.bias) : x;
    for (u32 i = 0; i < gate_up.count; ++i) {
      const dtype form = info(b.formats[gate_up[i]]).partner;
      if (i == 1 && form == b.regs[in[1]].as) break;
      const reg rows = b.temp(S.width(), form, r.active);
      b.emit<opcode::gather>({order, read}, {rows}, {}, {.cols = S.width(), .route = r});
      in.add(rows);
    }
    const reg h = b.temp(S.hidden, info(b.formats[down]).partner, r.active), y = b.temp(S.width());
    b.emit<S.ungated ? opcode::expert_up : opcode::expert_act>(
        in, {h}, gate_up, {.rows = S.hidden, .cols = S.width(), .act = S.act, .route = r});
    operands summands{order, h};
    const bool together = S.shared && !S.latent;
    if (together) summands.add(y_shared);
    if (S.shared_gate) summands.add(shared_gate);
    b.emit<opcode::expert_sum>(
        summands, {y}, {down},
        {.rows = S.width(), .cols = S.hidden, .shared = together, .shared_gate = S.shared_gate, .route = r});
    if (!S.latent) return y;
    const reg back = b.matmul(role::latent_up, y, S.dim, S.latent, S.bias);
    if (!S.shared) return back;
    b.emit<opcode::residual_add>({y_shared, back}, {y_shared}, {}, {.cols = S.dim});
    return y_shared;
  }
  static constexpr reg gated(builder& b, reg x) {  // of the shared expert
    const reg gate_up = b.matmul2(role::gate_shared, role::up_shared, x, S.shared, S.dim, S.bias), h = b.temp(S.shared);
    b.emit<opcode::act_mul>({gate_up}, {h}, {}, {.cols = S.shared, .act = S.act});
    return h;
  }
  static constexpr reg score(builder& b, role is, reg x, u32 rows) {
    const reg y = b.matmul(is, x, rows, S.dim);
    b.ops[b.ops.size() - 1].op = opcode::router;
    return y;
  }
  static constexpr u8 matrices(builder& b, role is, u32 rows, u32 cols) {
    return b.matrix(is, r.experts * rows, cols, rows);
  }
};

}  // namespace cke::graph

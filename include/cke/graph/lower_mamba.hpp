// SPDX-License-Identifier: MIT
// lower_mamba.hpp: a mamba2 mixer as straight-line code.
#pragma once

#include "lower.hpp"

namespace cke::graph {

template <mamba_options S> struct lower<mamba_mixer<S>> {
  static constexpr u32 inner = S.heads * S.head_dim, convolved = inner + 2 * S.groups * S.state;  // x, B and C
  static constexpr real most_step = S.most_step.v < 1e38 ? S.most_step : real{};                  // 0: no limit

  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::mamba_mixer);
    const reg gate = b.matmul(role::ssm_gate, x, inner, S.dim, S.bias),
              in = b.matmul(role::ssm_in, x, convolved, S.dim, S.bias);
    const reg steps = b.matmul(role::ssm_step, x, S.heads, S.dim, S.bias), mixed = b.temp(convolved);
    slots8 taps{b.taps(role::conv, convolved, S.taps)};
    if (S.conv_bias) taps.add(b.vector(role::conv, convolved, true));
    b.emit<opcode::causal_conv>({in}, {mixed}, taps, {{convolved, S.taps, S.conv_bias}, activation::silu}).state =
        b.state({keeps_what::conv, lifecycle::slot_persistent, S.taps - 1, 1, convolved});
    const reg y = b.temp(inner), normed = b.temp(inner);
    const slots8 w{b.vector(role::decay, S.heads), b.vector(role::step_bias, S.heads), b.vector(role::skip, S.heads)};
    b.emit<opcode::state_scan>({mixed, gate, steps}, {y}, w,
                               {.heads = S.heads,
                                .groups = S.groups,
                                .head_dim = S.head_dim,
                                .state = S.state,
                                .least_step = S.least_step,
                                .most_step = most_step})
        .state = b.state({keeps_what::ssm, lifecycle::slot_persistent, S.state, S.heads, S.head_dim});
    b.emit<opcode::rmsnorm>({y}, {normed}, {b.vector(role::ssm_norm, inner)},
                            {.cols = inner, .parts = S.groups, .eps = S.eps});
    return b.matmul(role::ssm_out, normed, S.dim, inner, S.bias);
  }
};

}  // namespace cke::graph

// SPDX-License-Identifier: MIT
// lower_recurrent.hpp: letters with a recurrent state as straight-line code: convolutions, delta nets, mamba2 mixers.
#pragma once

#include "lower.hpp"

namespace cke::graph {

template <u32 D, u32 Taps, bool Bias> struct lower<short_conv<D, Taps, Bias>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::shortconv);
    const reg bcx = b.matmul(role::conv_in, x, 3 * D, D, Bias), y = b.temp(D);
    slots8 w{b.taps(role::conv, D, Taps)};
    if (Bias) w.add(b.vector(role::conv, D, true));
    b.emit<opcode::gated_conv>({bcx}, {y}, w, {.channels = D, .taps = Taps, .bias = Bias}).state =
        b.state({keeps_what::conv, lifecycle::slot_persistent, Taps - 1, 1, D});
    return b.matmul(role::conv_out, y, D, D, Bias);
  }
};

template <delta_net_options S> struct lower<gated_delta_net<S>> {
  static constexpr u32 keys = S.key_heads * S.key_dim, values = S.value_heads * S.value_dim,
                       shared = S.value_heads / S.key_heads;

  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::gated_delta_net);
    const reg q = b.matmul(role::delta_q, x, keys, S.dim, false, 0, S.key_dim);
    const reg k = b.matmul(role::delta_k, x, keys, S.dim, false, 0, S.key_dim);
    const reg v = b.matmul(role::delta_v, x, values, S.dim, false, 0, shared * S.value_dim);
    const reg z = b.matmul(role::delta_gate, x, values, S.dim, false, 0, shared * S.value_dim);
    const reg rates = b.matmul2(role::alpha, role::beta, x, S.value_heads, S.dim, false);
    for (u32 i = 0; i < 2; ++i) b.slots[b.slots.size() - 1 - i].part = shared;
    const operands in{convolved(b, q, keys), convolved(b, k, keys), convolved(b, v, values), z, rates};
    const reg y = b.temp(values);
    const slots8 w{b.vector(role::decay, S.value_heads), b.vector(role::step_bias, S.value_heads),
                   b.vector(role::delta_norm, S.value_dim)};
    b.emit<opcode::gated_delta>(in, {y}, w,
                                {.key_heads = S.key_heads,
                                 .value_heads = S.value_heads,
                                 .key_dim = S.key_dim,
                                 .value_dim = S.value_dim,
                                 .tiled = S.tiled,
                                 .eps = S.eps})
        .state = b.state({keeps_what::delta, lifecycle::slot_persistent, S.key_dim, S.value_heads, S.value_dim});
    return b.matmul(role::delta_out, y, S.dim, values);
  }
  static constexpr reg convolved(builder& b, reg x, u32 channels) {
    const reg y = b.temp(channels);
    b.emit<opcode::causal_conv>({x}, {y}, {b.taps(role::conv, channels, S.taps)},
                                {{channels, S.taps}, activation::silu})
        .state = b.state({keeps_what::conv, lifecycle::slot_persistent, S.taps - 1, 1, channels});
    return y;
  }
};

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

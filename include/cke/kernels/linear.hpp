// SPDX-License-Identifier: MIT
// linear.hpp: the steps that multiply by a matrix: one micro-kernel, with an epilogue for each step.
#pragma once

#include <cstring>

#include "activation.hpp"
#include "formats/packed_bf16.hpp"
#include "kernel.hpp"
#include "matmul.hpp"
#include "store_row.hpp"

namespace cke::kernels {

// The rows of a matrix that a packed unit holds.
struct row_range {
  u32 first, count;
};
constexpr row_range rows_of_unit(u32 group, u32 unit) {
  const u32 per = units_of_group(group), in_group = unit % per * unit_rows, left = group - in_group;
  return {unit / per * group + in_group, left < unit_rows ? left : unit_rows};
}

template <class Isa, dtype... Ts> concept multiplies = (requires { kernels::packed<Ts, Isa>::unit_bytes(0u); } && ...);

// Calls f<format of matrix `which`>(); the matrices have one format, or one each.
template <dtype T, dtype... More, class F> void with_format(u32 which, F&& f) {
  if constexpr (sizeof...(More) == 0) f.template operator()<T>();
  else if (which == 0) f.template operator()<T>();
  else with_format<More...>(which - 1, f);
}

// The input in the form that format T multiplies; a step with formats of two kinds gets both forms.
template <dtype T> const view& input_for(const work& w) { return w.in[w.in[0].as == info(T).partner ? 0 : 1]; }

// Calls e(first_token, tokens, tile [tokens][32]) for every tile of `unit` of weight `which`.
template <dtype T, class Isa, class Epilogue>
void multiply(const work& w, u32 which, u32 unit, u32 cols, Epilogue&& e) {
  const std::byte* weights = w.weight[which] + u64{unit} * kernels::packed<T, Isa>::unit_bytes(cols);
  const view& x = input_for<T>(w);
  kernels::matmul<T, Isa>::unit(weights, x.data, token_bytes<Isa>(x), w.tokens, cols, e);
}

// y[token][rows of the unit] (+)= tile + bias. Rows of y are far apart, so the rows of the next tile are prefetched
// while it is computed.
template <bool Add>
void store_tile(const view& y, u32 tokens, const float* bias, row_range rows, u32 first, u32 count, const float* tile) {
  for (u32 t = 0; t < count; ++t) {
    float* out = y.row(first + t) + rows.first;
    const float* in = tile + u64{t} * unit_rows;
    if (bias) {
      for (u32 r = 0; r < rows.count; ++r)
        out[r] = Add ? out[r] + (in[r] + bias[rows.first + r]) : in[r] + bias[rows.first + r];
    } else {
      for (u32 r = 0; r < rows.count; ++r) out[r] = Add ? out[r] + in[r] : in[r];
    }
    if (first + count + t >= tokens) continue;
    const float* next = y.row(first + count + t) + rows.first;
    __builtin_prefetch(next, 1), __builtin_prefetch(next + unit_rows / 2, 1);
  }
}

// Biases follow the matrices.
inline const float* bias_of(bool has, const work& w, u32 which, u32 matrices) {
  return has ? reinterpret_cast<const float*>(w.weight[matrices + which]) : nullptr;
}

// One unit of matrix `which`, whose rows are packed in groups of `group`, into output `to`.
template <bool Add, class Isa, dtype... Ts>
void multiply_into(u32 cols, const float* bias, const work& w, u32 which, u32 to, u32 group, u32 unit) {
  const row_range rows = rows_of_unit(group, unit);
  with_format<Ts...>(which, [&]<dtype T>() {
    multiply<T, Isa>(w, which, unit, cols, [&](u32 first, u32 count, const float* tile) {
      store_tile<Add>(w.out[to], w.tokens, bias, rows, first, count, tile);
    });
  });
}

template <dtype T, class Isa>
  requires multiplies<Isa, T>
struct kernel<opcode::logits, T, Isa> {
  static void run(const matmul_params& p, const work& w, u32 unit) {
    multiply_into<false, Isa, T>(p.cols, bias_of(p.bias, w, 0, 1), w, 0, 0, p.rows, unit);
  }
};
template <dtype T, class Isa>
  requires multiplies<Isa, T>
struct kernel<opcode::vision_patch_embed, T, Isa> : kernel<opcode::logits, T, Isa> {};

template <dtype T, class Isa, dtype... More>
  requires multiplies<Isa, T, More...>
struct kernel<opcode::matmul, T, Isa, More...> {
  static void run(const matmul_params& p, const work& w, u32 unit) {
    if (p.matrices == 1)
      return multiply_into<false, Isa, T, More...>(p.cols, bias_of(p.bias, w, 0, 1), w, 0, 0, p.rows / p.groups, unit);
    work up = w;
    up.out[0].data += u64{p.rows} * sizeof(float);
    multiply_into<false, Isa, T, More...>(p.cols, bias_of(p.bias, w, 0, 2), w, 0, 0, p.rows, unit);
    multiply_into<false, Isa, T, More...>(p.cols, bias_of(p.bias, w, 1, 2), up, 1, 0, p.rows, unit);
  }
};

// in[1] is the stream; the result is added to it in place.
template <dtype T, class Isa>
  requires multiplies<Isa, T>
struct kernel<opcode::matmul_add, T, Isa> {
  static void run(const matmul_params& p, const work& w, u32 unit) {
    multiply_into<true, Isa, T>(p.cols, bias_of(p.bias, w, 0, 1), w, 0, 0, p.rows, unit);
  }
};

template <dtype T, class Isa, dtype... More>
  requires multiplies<Isa, T, More...>
struct kernel<opcode::qkv_matmul, T, Isa, More...> {
  static void run(const qkv_params& p, const work& w, u32 unit) {
    const u32 rows[]{p.q_rows, p.k_rows, p.v_rows};
    const auto one = [&](u32 i, u32 group, u32 u) {
      multiply_into<false, Isa, T, More...>(p.cols, bias_of(p.bias, w, i, 3), w, i, i, group, u);
    };
    if (w.by == split::kv_heads) {
      for (u32 i = 0; i < 3; ++i) {
        const u32 group = rows[i] / p.kv_heads, per = units_of_group(group);
        for (u32 u = 0; u < per; ++u) one(i, group, unit * per + u);
      }
      return;
    }
    for (u32 i = 0; i < 3; ++i) {
      const u32 group = rows[i] / p.kv_heads, units = units_of_group(group) * p.kv_heads;
      if (unit < units) return one(i, group, unit);
      unit -= units;
    }
  }
};

// Scratch for a unit's rows of all tokens, [tokens][32].
constexpr u64 tile_bytes(u32 tokens) { return u64{tokens} * unit_rows * sizeof(float); }

// out = act(gate x) * (up x), written as f32 or in the form that the next matrix takes.
template <dtype T, class Isa, dtype... More>
  requires multiplies<Isa, T, More...>
struct kernel<opcode::matmul_act, T, Isa, More...> {
  static constexpr u64 scratch_bytes(const matmul_act_params&, u32 tokens) { return tile_bytes(tokens); }

  template <activation A> static void run(const matmul_act_params& p, const work& w, u32 unit) {
    float* gate = reinterpret_cast<float*>(w.scratch);  // [tokens][32]
    const u32 cols = p.matmul.cols;
    const row_range rows = rows_of_unit(p.matmul.rows, unit);
    const float *gate_bias = bias_of(p.matmul.bias, w, 0, 2), *up_bias = bias_of(p.matmul.bias, w, 1, 2);
    auto add_bias = [&](float* x, const float* bias) {
      for (u32 r = 0; bias && r < rows.count; ++r) x[r] += bias[rows.first + r];
    };
    multiply<T, Isa>(w, 0, unit, cols, [&](u32 first, u32 count, const float* tile) {
      std::memcpy(gate + u64{first} * unit_rows, tile, u64{count} * unit_rows * sizeof(float));
    });
    constexpr dtype formats[]{T, More...};
    multiply<formats[sizeof...(More)], Isa>(w, 1, unit, cols, [&](u32 first, u32 count, const float* tile) {
      for (u32 t = 0; t < count; ++t) {
        alignas(64) float up[unit_rows], out[unit_rows];
        std::memcpy(up, tile + u64{t} * unit_rows, sizeof up);
        float* g = gate + u64{first + t} * unit_rows;
        add_bias(g, gate_bias), add_bias(up, up_bias);
        activate<A, Isa>::gated(g, up, unit_rows, out);
        store_row<Isa>(w.out[0], w.tokens, first + t, rows.first, rows.count, out);
      }
    });
  }
};
template <dtype T, class Isa, dtype... More>
  requires multiplies<Isa, T, More...>
struct kernel<opcode::matmul_act_quantize, T, Isa, More...> : kernel<opcode::matmul_act, T, Isa, More...> {};

// out = act(up x), likewise.
template <dtype T, class Isa>
  requires multiplies<Isa, T>
struct kernel<opcode::up_act, T, Isa> {
  template <activation A> static void run(const matmul_act_params& p, const work& w, u32 unit) {
    const row_range rows = rows_of_unit(p.matmul.rows, unit);
    multiply<T, Isa>(w, 0, unit, p.matmul.cols, [&](u32 first, u32 count, const float* tile) {
      for (u32 t = 0; t < count; ++t) {
        alignas(64) float out[unit_rows];
        activate<A, Isa>::row(tile + u64{t} * unit_rows, unit_rows, out);
        store_row<Isa>(w.out[0], w.tokens, first + t, rows.first, rows.count, out);
      }
    });
  }
};
template <dtype T, class Isa>
  requires multiplies<Isa, T>
struct kernel<opcode::up_act_quantize, T, Isa> : kernel<opcode::up_act, T, Isa> {};

}  // namespace cke::kernels

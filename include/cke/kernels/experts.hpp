// SPDX-License-Identifier: MIT
// experts.hpp: the steps of a mixture of experts: routing, rows gathered by expert, their matrices.
#pragma once

#include <algorithm>

#include "linear.hpp"
#include "routing.hpp"

namespace cke::kernels {

// The rows (token, expert) of a pass, sorted by expert, then by token, as the register `order` holds them. An expert is
// listed if any token chose it; experts ascend.
struct expert_rows {
  u32* words;
  u32 tokens, all;  // all: tokens * active, the number of rows and the most experts

  expert_rows(const view& order, const router& r, u32 n)
      : words(reinterpret_cast<u32*>(order.data)), tokens(n), all(n * r.active) {}
  u32& count() const { return words[0]; }                                    // experts
  u32* expert() const { return words + 1; }                                  // [count]
  u32* first() const { return expert() + all; }                              // [count + 1]: rows
  u32* token() const { return first() + all + 1; }                           // [all]
  float* weight() const { return reinterpret_cast<float*>(token() + all); }  // [all]
  u32 size(u32 i) const { return first()[i + 1] - first()[i]; }
  // A single token is gathered once: all its experts read the same row.
  u32 gathered() const { return tokens == 1 ? 1 : all; }
  u32 first_gathered(u32 i) const { return tokens == 1 ? 0 : first()[i]; }
};

// A unit is all rows of its matrix for all tokens, or the whole matrix for its tokens.
template <dtype T, class Isa>
  requires multiplies<Isa, T>
struct kernel<opcode::router, T, Isa> {
  static void run(const matmul_params& p, const work& w, u32 unit) {
    if (w.by == split::rows)
      return multiply_into<false, Isa, T>(p.cols, bias_of(p.bias, w, 0, 1), w, 0, 0, p.rows, unit);
    const auto [first, last] = tokens_of(w, unit);
    work part = w;
    part.tokens = last - first;
    part.in[0] = from_row<Isa>(w.in[0], first), part.out[0] = from_row<Isa>(w.out[0], first);
    for (u32 u = 0; u < units_of_group(p.rows); ++u)
      multiply_into<false, Isa, T>(p.cols, bias_of(p.bias, w, 0, 1), part, 0, 0, p.rows, u);
  }
};

// out: [active] numbers of experts, best first, and [active] weights
template <class Isa> struct kernel<opcode::route, dtype::f32, Isa> {
  static constexpr u64 scratch_bytes(const route_params& p, u32) { return routing::scratch_bytes(p.route); }

  static void run(const route_params& p, const work& w, u32 unit) {
    const auto [first, last] = tokens_of(w, unit);
    const auto vector = [&](u32 i) { return reinterpret_cast<const float*>(w.weight[i]); };
    for (u32 t = first; t < last; ++t)
      routing::token(p.route, w.in[0].row(t), vector(0), vector(p.route.bias), w.scratch, w.out[0].row(t));
  }
};

template <class Isa> struct kernel<opcode::sort_by_expert, dtype::f32, Isa> {
  static constexpr u64 scratch_bytes(const route_params& p, u32) { return u64{p.route.experts} * sizeof(u32); }

  static void run(const route_params& p, const work& w, u32) {
    const router& r = p.route;
    const expert_rows rows(w.out[0], r, w.tokens);
    u32* const end = reinterpret_cast<u32*>(w.scratch);  // [experts]: the end of each expert's rows so far
    const auto each = [&](auto f) {
      for (u32 t = 0; t < w.tokens; ++t)
        for (u32 k = 0; k < r.active; ++k) f(t, k, static_cast<u32>(w.in[0].row(t)[k]));
    };
    std::fill_n(end, r.experts, 0u);
    each([&](u32, u32, u32 expert) { ++end[expert]; });
    u32 row = 0, count = 0;
    for (u32 expert = 0; expert < r.experts; ++expert) {
      const u32 size = end[expert];
      end[expert] = row;
      if (size == 0) continue;
      rows.expert()[count] = expert, rows.first()[count++] = row;
      row += size;
    }
    rows.first()[count] = row, rows.count() = count;
    each([&](u32 t, u32 k, u32 expert) {
      rows.token()[end[expert]] = t;
      rows.weight()[end[expert]++] = w.in[0].row(t)[r.active + k];
    });
  }
};

// in[1]: a row for each token; out: a row for each of its experts, in the form that their matrices take
template <class Isa> struct kernel<opcode::gather, dtype::f32, Isa> {
  static void run(const gather_params& p, const work& w, u32 unit) {
    const expert_rows rows(w.in[0], p.route, w.tokens);
    const auto [first, last] = tokens_of(w, unit);
    const u32 end = std::min(last * p.route.active, rows.gathered());
    u32 row = first * p.route.active;
    u32 i = static_cast<u32>(std::upper_bound(rows.first(), rows.first() + rows.count(), row) - rows.first()) - 1;
    for (; row < end; ++row) {
      while (row >= rows.first()[i + 1]) ++i;
      store_row<Isa>(from_row<Isa>(w.out[0], rows.first()[i]), rows.size(i), row - rows.first()[i], 0, p.cols,
                     w.in[1].row(rows.token()[row]));
    }
  }
};

// A unit is rows of one expert's gate and up, for all tokens that chose it.
template <dtype T, class Isa, dtype... More>
  requires multiplies<Isa, T, More...>
struct kernel<opcode::expert_act, T, Isa, More...> {
  static constexpr u64 scratch_bytes(const expert_params&, u32 tokens) { return tile_bytes(tokens); }

  template <activation A> static void run(const expert_params& p, const work& w, u32 unit) {
    const expert_rows rows(w.in[0], p.route, w.tokens);
    const u32 units = units_of_group(p.rows), i = unit / units;
    if (i >= rows.count()) return;
    work mine = w;
    mine.tokens = rows.size(i);
    for (u32 k = 0; k < 2; ++k) mine.in[k] = from_row<Isa>(w.in[k + 1], rows.first_gathered(i));
    mine.out[0] = from_row<Isa>(w.out[0], rows.first()[i]);
    for (u32 k = 0; k < 2; ++k)
      with_format<T, More...>(std::min(k, u32{sizeof...(More)}), [&]<dtype F>() {
        mine.weight[k] += u64{rows.expert()[i]} * units * kernels::packed<F, Isa>::unit_bytes(p.cols);
      });
    kernel<opcode::matmul_act, T, Isa, More...>::template run<A>({{.rows = p.rows, .cols = p.cols, .matrices = 2}, A},
                                                                 mine, unit % units);
  }
};

// The same for one matrix, in a mixture without gates.
template <dtype T, class Isa>
  requires multiplies<Isa, T>
struct kernel<opcode::expert_up, T, Isa> {
  template <activation A> static void run(const expert_params& p, const work& w, u32 unit) {
    const expert_rows rows(w.in[0], p.route, w.tokens);
    const u32 units = units_of_group(p.rows), i = unit / units;
    if (i >= rows.count()) return;
    work mine = w;
    mine.tokens = rows.size(i);
    mine.in[0] = from_row<Isa>(w.in[1], rows.first_gathered(i));
    mine.out[0] = from_row<Isa>(w.out[0], rows.first()[i]);
    mine.weight[0] += u64{rows.expert()[i]} * units * kernels::packed<T, Isa>::unit_bytes(p.cols);
    kernel<opcode::up_act, T, Isa>::template run<A>({{.rows = p.rows, .cols = p.cols}, A}, mine, unit % units);
  }
};

// A unit is rows of every chosen expert's down: y = sum of weight * (down h), experts ascending, whatever else is in
// the pass, and last the shared expert's output (in[2]; in[3]: the logit of its gate). Each matrix is read once.
template <dtype T, class Isa, bool Add> struct sum_of_experts {
  static constexpr u64 scratch_bytes(const expert_sum_params&, u32 tokens) { return tile_bytes(tokens); }

  static void run(const expert_sum_params& p, const work& w, u32 unit) {
    const expert_rows rows(w.in[0], p.route, w.tokens);
    const row_range of_unit = rows_of_unit(p.rows, unit);
    float* const sum = reinterpret_cast<float*>(w.scratch);  // [tokens][32]
    std::fill_n(sum, u64{w.tokens} * unit_rows, 0.f);
    for (u32 i = 0; i < rows.count(); ++i) {
      const u32 begin = rows.first()[i];
      work mine = w;
      mine.tokens = rows.size(i);
      mine.in[0] = from_row<Isa>(w.in[1], begin);
      multiply<T, Isa>(mine, 0, rows.expert()[i] * units_of_group(p.rows) + unit, p.cols,
                       [&](u32 first, u32 count, const float* tile) {
                         for (u32 t = 0; t < count; ++t) {
                           const float by = rows.weight()[begin + first + t];
                           float* const to = sum + u64{rows.token()[begin + first + t]} * unit_rows;
                           for (u32 k = 0; k < unit_rows; ++k) to[k] += by * tile[t * unit_rows + k];
                         }
                       });
    }
    if (p.shared)
      for (u32 t = 0; t < w.tokens; ++t) {
        const float by = p.shared_gate ? 1 / (1 + rounded_exp(-w.in[3].row(t)[0])) : 1.f;
        for (u32 k = 0; k < of_unit.count; ++k) sum[t * unit_rows + k] += by * w.in[2].row(t)[of_unit.first + k];
      }
    store_tile<Add>(w.out[0], w.tokens, nullptr, of_unit, 0, w.tokens, sum);
  }
};
template <dtype T, class Isa>
  requires multiplies<Isa, T>
struct kernel<opcode::expert_sum, T, Isa> : sum_of_experts<T, Isa, false> {};
template <dtype T, class Isa>
  requires multiplies<Isa, T>
struct kernel<opcode::expert_sum_add, T, Isa> : sum_of_experts<T, Isa, true> {};

}  // namespace cke::kernels

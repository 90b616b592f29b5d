// SPDX-License-Identifier: MIT
// rule_experts.hpp: gradients of a mixture of experts: through the weights of the chosen, not through the choice.
#pragma once

#include "../kernels/experts.hpp"
#include "balance.hpp"
#include "rule_linear.hpp"

namespace cke::train {

template <> inline constexpr bool has_rule<opcode::route> = true;
template <class Isa> struct rule<opcode::route, Isa> {
  static u64 scratch_bytes(const route_params& p, u32, u32) {
    return std::max(u64{2} * p.route.experts * sizeof(float), routing::scratch_bytes(p.route));
  }
  static u64 shared_bytes(const route_params& p, u32 rows, u32) { return u64{rows} * p.route.active * sizeof(float); }

  static void backward(const route_params& p, const step_work& s, const crew& c, std::byte* shared) {
    const router& r = p.route;
    const float* const scales = r.expert_scale ? s.plain[r.bias] : nullptr;
    float* const dscale = r.expert_scale ? s.dweight[r.bias] : nullptr;
    float* const parts = reinterpret_cast<float*>(shared);  // [rows][active]: of dscale
    c.rows(s.w.tokens, [&](u32 t) {
      float* const d = reinterpret_cast<float*>(c.scratch);  // [active]
      std::copy_n(s.dout[0].row(t) + r.active, r.active, d);
      back(r, s.w.in[0].row(t), s.w.out[0].row(t), scales, d, d + r.experts, s.din[0].row(t), parts + t * r.active);
    });
    if (dscale || s.balance.by > 0) c.barrier();
    if (dscale)
      c.share(1, [&](u32) {
        for (u32 t = 0; t < s.w.tokens; ++t)
          for (u32 k = 0; k < r.active; ++k) dscale[static_cast<u32>(s.w.out[0].row(t)[k])] += parts[t * r.active + k];
      });
    if (s.balance.by > 0)
      c.share(static_cast<u32>(s.w.segments.size()), [&](u32 i) {
        const segment& of = s.w.segments[i];
        s.balance.add(i,
                      balance_loss(r, {s.w.in[0], s.w.out[0], s.din[0], of.first, of.tokens}, s.balance.slope(i),
                                   reinterpret_cast<float*>(c.scratch)));
      });
  }

 private:
  // d: [active] gradients of the weights; scores: [experts] of room. With learned scales, dscales: [active], set.
  static void back(const router& r, const float* logits, const float* chosen, const float* scales, float* d,
                   float* scores, float* dlogits, float* dscales) {
    const auto expert = [&](u32 k) { return static_cast<u32>(chosen[k]); };
    const u32 n = r.score == scoring::softmax_of_chosen ? r.active : r.experts;
    const auto logit = [&](u32 i) { return logits[r.score == scoring::softmax_of_chosen ? expert(i) : i]; };
    if (r.score == scoring::sigmoid) {
      for (u32 e = 0; e < n; ++e) scores[e] = sigmoid(logits[e]);
    } else {
      float most = logit(0), sum = 0;
      for (u32 i = 1; i < n; ++i) most = std::max(most, logit(i));
      for (u32 i = 0; i < n; ++i) sum += scores[i] = std::exp(logit(i) - most);
      for (u32 i = 0; i < n; ++i) scores[i] /= sum;
    }
    const auto score = [&](u32 k) { return scores[r.score == scoring::softmax_of_chosen ? k : expert(k)]; };
    float sum = 1;
    if (r.renormalise) {
      sum = r.floor;
      for (u32 k = 0; k < r.active; ++k) sum += score(k);
    }
    for (u32 k = 0; k < r.active; ++k) {
      if (scales) dscales[k] = d[k] * (score(k) / sum * r.scale), d[k] *= scales[expert(k)];
      d[k] *= r.scale;
    }
    if (r.renormalise) {
      float along = 0;
      for (u32 k = 0; k < r.active; ++k) along += d[k] * score(k) / sum;
      for (u32 k = 0; k < r.active; ++k) d[k] = (d[k] - along) / sum;
    }
    if (r.score == scoring::sigmoid) {
      for (u32 k = 0; k < r.active; ++k) dlogits[expert(k)] += d[k] * score(k) * (1 - score(k));
      return;
    }
    float along = 0;
    for (u32 k = 0; k < r.active; ++k) along += d[k] * score(k);
    if (r.score == scoring::softmax)
      for (u32 e = 0; e < n; ++e) dlogits[e] -= scores[e] * along;
    else
      for (u32 k = 0; k < n; ++k) dlogits[expert(k)] -= scores[k] * along;
    for (u32 k = 0; k < r.active; ++k) dlogits[expert(k)] += score(k) * d[k];
  }
};

template <> inline constexpr bool has_rule<opcode::sort_by_expert> = true;
template <class Isa> struct rule<opcode::sort_by_expert, Isa> {
  static u64 scratch_bytes(const route_params& p, u32, u32) { return u64{p.route.experts} * sizeof(u32); }
  static void backward(const route_params& p, const step_work& s, const crew& c) {
    const router& r = p.route;
    const expert_rows rows(s.w.out[0], r, s.w.tokens), slope(s.dout[0], r, s.w.tokens);
    c.share(rows.count(), [&](u32 i) {
      for (u32 row = rows.first()[i]; row < rows.first()[i + 1]; ++row) {
        const float* const chosen = s.w.in[0].row(rows.token()[row]);
        const auto k = std::find(chosen, chosen + r.active, static_cast<float>(rows.expert()[i])) - chosen;
        s.din[0].row(rows.token()[row])[r.active + k] += slope.weight()[row];
      }
    });
  }
};

template <> inline constexpr bool has_rule<opcode::gather> = true;
template <class Isa> struct rule<opcode::gather, Isa> {
  static void backward(const gather_params& p, const step_work& s, const crew& c) {
    const expert_rows rows(s.w.in[0], p.route, s.w.tokens);
    c.columns(p.cols, [&](u32 first, u32 end) {
      for (u32 row = 0; row < rows.gathered(); ++row)
        add_to(s.din[1].row(rows.token()[row]) + first, s.dout[0].row(row) + first, end - first);
    });
  }
};

// f(i, first, count) for runs of at most 128 of `cols` columns and each expert i that a row has chosen.
template <class F> void for_each_expert(const expert_rows& rows, u32 cols, const crew& c, F f) {
  constexpr u32 some = 128;
  const u32 runs = ceil_div(cols, some);
  c.share(rows.count() * runs, [&](u32 u) {
    const u32 first = u % runs * some;
    f(u / runs, first, std::min(some, cols - first));
  });
}

// h = act(gate x) * (up x), or act(up x): what the activation takes is not kept for the way back.
template <class Isa, u32 Matrices> struct expert_rule {
  static constexpr u32 m = Matrices;

  static u64 shared_bytes(const expert_params& p, u32 rows, u32) {
    return u64{2 * m} * rows * p.route.active * p.rows * sizeof(float);
  }
  static void forward(const expert_params& p, const step_work& s, const crew& c, std::byte* shared) {
    const expert_rows rows(s.w.in[0], p.route, s.w.tokens);
    float* const in = reinterpret_cast<float*>(shared);
    multiply_rows(p, s, rows, c, in);
    with_activation(p.act, [&]<activation A>() {
      c.rows(rows.all, [&](u32 row) {
        const float* const y = in + u64{row} * m * p.rows;
        if constexpr (m == 2) activate<A, Isa>::gated(y, y + p.rows, p.rows, s.w.out[0].row(row));
        else activate<A, Isa>::row(y, p.rows, s.w.out[0].row(row));
      });
    });
  }
  static void backward(const expert_params& p, const step_work& s, const crew& c, std::byte* shared) {
    const expert_rows rows(s.w.in[0], p.route, s.w.tokens);
    const u64 wide = u64{m} * p.rows, matrix = u64{p.rows} * p.cols;
    float* const in = reinterpret_cast<float*>(shared);
    float* const din = in + u64{rows.all} * wide;  // likewise
    const auto x = [&](u32 i) { return s.w.in[1].row(rows.first_gathered(i)); };
    c.rows(rows.all, [&](u32 row) { std::fill_n(din + row * wide, wide, 0.f); });
    multiply_rows(p, s, rows, c, in);
    with_activation(p.act, [&]<activation A>() {
      c.rows(rows.all, [&](u32 row) {
        const float* const y = in + row * wide;
        float* const dy = din + row * wide;
        if constexpr (m == 2) slope<A, Isa>::gated(y, y + p.rows, s.dout[0].row(row), p.rows, dy, dy + p.rows);
        else slope<A, Isa>::row(y, s.dout[0].row(row), p.rows, dy);
      });
    });
    c.barrier();
    for (u32 k = 0; k < m; ++k) {
      const auto dy = [&](u32 i) { return din + rows.first()[i] * wide + u64{k} * p.rows; };
      if (s.din[1].data) {
        // A single token's experts share a row: one after the other.
        const auto add = [&](u32 i, u32 first, u32 n) {
          gemm<Isa>::all({rows.size(i), n, p.rows, dy(i), wide, 1, s.plain[k] + rows.expert()[i] * matrix + first,
                          p.cols, 1, s.din[1].row(rows.first_gathered(i)) + first, s.din[1].stride, s.bf16[k]},
                         c.scratch);
        };
        if (s.w.tokens == 1)
          c.share(1, [&](u32) {
            for (u32 i = 0; i < rows.count(); ++i) add(i, 0, p.cols);
          });
        else for_each_expert(rows, p.cols, c, add);
      }
      if (s.dweight[k])
        for_each_expert(rows, p.rows, c, [&](u32 i, u32 first, u32 n) {
          gemm<Isa>::all({n, p.cols, rows.size(i), dy(i) + first, 1, wide, x(i), s.w.in[1].stride, 1,
                          s.dweight[k] + rows.expert()[i] * matrix + u64{first} * p.cols, p.cols, s.bf16[k]},
                         c.scratch);
        });
      c.barrier();
    }
  }

 private:
  // What the activation takes: in [rows][gate, up].
  static void multiply_rows(const expert_params& p, const step_work& s, const expert_rows& rows, const crew& c,
                            float* in) {
    const u64 wide = u64{m} * p.rows, matrix = u64{p.rows} * p.cols;
    for (u32 k = 0; k < m; ++k)
      for_each_expert(rows, p.rows, c, [&](u32 i, u32 first, u32 n) {
        gemm<Isa>::all({rows.size(i), n, p.cols, s.w.in[1].row(rows.first_gathered(i)), s.w.in[1].stride, 1,
                        s.plain[k] + rows.expert()[i] * matrix + u64{first} * p.cols, 1, p.cols,
                        in + rows.first()[i] * wide + u64{k} * p.rows + first, wide, s.bf16[k], true},
                       c.scratch);
      });
    c.barrier();
  }
};
template <> inline constexpr bool has_rule<opcode::expert_act> = true;
template <> inline constexpr bool has_rule<opcode::expert_up> = true;
template <class Isa> struct rule<opcode::expert_act, Isa> : expert_rule<Isa, 2> {};
template <class Isa> struct rule<opcode::expert_up, Isa> : expert_rule<Isa, 1> {};

// y = sum of weight (down h), and the shared expert's output.
template <> inline constexpr bool has_rule<opcode::expert_sum> = true;
template <class Isa> struct rule<opcode::expert_sum, Isa> {
  static u64 shared_bytes(const expert_sum_params& p, u32 rows, u32) {
    return u64{rows} * p.route.active * (p.rows + p.cols) * sizeof(float);
  }
  // Experts ascending, whatever else is in the pass, and last the shared expert's output.
  static void forward(const expert_sum_params& p, const step_work& s, const crew& c, std::byte* shared) {
    const expert_rows rows(s.w.in[0], p.route, s.w.tokens);
    const u64 matrix = u64{p.rows} * p.cols;
    float* const y = reinterpret_cast<float*>(shared);  // [rows][p.rows]
    for_each_expert(rows, p.rows, c, [&](u32 i, u32 first, u32 n) {
      gemm<Isa>::all({rows.size(i), n, p.cols, s.w.in[1].row(rows.first()[i]), s.w.in[1].stride, 1,
                      s.plain[0] + rows.expert()[i] * matrix + u64{first} * p.cols, 1, p.cols,
                      y + u64{rows.first()[i]} * p.rows + first, p.rows, s.bf16[0], true},
                     c.scratch);
    });
    c.barrier();
    c.columns(p.rows, [&](u32 first, u32 end) {
      for (u32 t = 0; t < s.w.tokens; ++t) std::fill(s.w.out[0].row(t) + first, s.w.out[0].row(t) + end, 0.f);
      for (u32 row = 0; row < rows.all; ++row) {
        float* const to = s.w.out[0].row(rows.token()[row]);
        for (u32 i = first; i < end; ++i) to[i] += rows.weight()[row] * y[u64{row} * p.rows + i];
      }
      for (u32 t = 0; p.shared && t < s.w.tokens; ++t) {
        const float by = p.shared_gate ? sigmoid(*s.w.in[3].row(t)) : 1;
        for (u32 i = first; i < end; ++i) s.w.out[0].row(t)[i] += by * s.w.in[2].row(t)[i];
      }
    });
  }
  static void backward(const expert_sum_params& p, const step_work& s, const crew& c, std::byte* shared) {
    const expert_rows rows(s.w.in[0], p.route, s.w.tokens), dorder(s.din[0], p.route, s.w.tokens);
    const u64 matrix = u64{p.rows} * p.cols;
    float* const dy = reinterpret_cast<float*>(shared);  // [rows][p.rows], of the tokens
    float* const dh = dy + u64{rows.all} * p.rows;       // [rows][p.cols], before the weight
    c.rows(rows.all, [&](u32 row) { std::copy_n(s.dout[0].row(rows.token()[row]), p.rows, dy + u64{row} * p.rows); });
    c.barrier();
    for_each_expert(rows, p.cols, c, [&](u32 i, u32 first, u32 n) {
      gemm<Isa>::all({rows.size(i), n, p.rows, dy + u64{rows.first()[i]} * p.rows, p.rows, 1,
                      s.plain[0] + rows.expert()[i] * matrix + first, p.cols, 1,
                      dh + u64{rows.first()[i]} * p.cols + first, p.cols, s.bf16[0], true},
                     c.scratch);
    });
    c.barrier();
    c.rows(rows.all, [&](u32 row) {
      const float *const h = s.w.in[1].row(row), *const d = dh + u64{row} * p.cols, by = rows.weight()[row];
      dorder.weight()[row] += sum_of(p.cols, [&](u64 i) { return h[i] * d[i]; });
      for (u32 i = 0; i < p.cols; ++i) s.din[1].row(row)[i] += by * d[i];
      for (u32 i = 0; i < p.rows; ++i) dy[u64{row} * p.rows + i] *= by;
    });
    if (p.shared)
      c.rows(s.w.tokens, [&](u32 t) {
        const float *const d = s.dout[0].row(t), *const y = s.w.in[2].row(t),
                           by = p.shared_gate ? sigmoid(*s.w.in[3].row(t)) : 1;
        for (u32 i = 0; i < p.rows; ++i) s.din[2].row(t)[i] += by * d[i];
        if (p.shared_gate) *s.din[3].row(t) += by * (1 - by) * sum_of(p.rows, [&](u64 i) { return d[i] * y[i]; });
      });
    if (!s.dweight[0]) return;
    c.barrier();
    for_each_expert(rows, p.rows, c, [&](u32 i, u32 first, u32 n) {
      gemm<Isa>::all({n, p.cols, rows.size(i), dy + u64{rows.first()[i]} * p.rows + first, 1, p.rows,
                      s.w.in[1].row(rows.first()[i]), s.w.in[1].stride, 1,
                      s.dweight[0] + rows.expert()[i] * matrix + u64{first} * p.cols, p.cols, s.bf16[0]},
                     c.scratch);
    });
  }
};

}  // namespace cke::train

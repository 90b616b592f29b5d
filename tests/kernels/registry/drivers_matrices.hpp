// SPDX-License-Identifier: MIT
// drivers_matrices.hpp: cases of the steps that multiply by matrices, of one format or several, and of experts.
#pragma once

#include "drivers_rows.hpp"

namespace parity {

constexpr u32 some_rows = 40;  // a whole unit of rows and a part of one
constexpr double matrix_within = std::is_same_v<isa::native, isa::wasm> ? 3e-5 : 2e-5;  // as matmul.cpp
inline constexpr u32 some_tokens[] = {1, 19};  // one tile of one, and tiles of 16, 2 and 1

// What a case of formats t needs again and again.
struct matrix_shapes {
  kernel_types t;
  u32 tokens;
  dtype second = t.second == dtype::none ? t.first : t.second, third = t.third == dtype::none ? second : t.third;
  u32 block = std::max({info(t.first).block, info(second).block, info(third).block});
  u32 cols = block == 256 ? 512 : block == 32 || needs(dtype::q8_0) ? 96 : 41;
  float spread =
      block == 256 ? 0.02f : 0.1f;  // of the input: sums are of order 1 in every format, and so are their products

  bool needs(dtype form) const {
    return info(t.first).partner == form || info(second).partner == form || info(third).partner == form;
  }
  // The input in each form that its matrices take, that of the first first: of rows that lie in runs.
  std::vector<register_image> inputs(u32 rows, std::vector<u32> runs = {}) const {
    std::vector<register_image> all;
    const auto numbers = random_row(u64{rows} * cols, 3, spread);
    for (const dtype f : {t.first, second, third})
      if (const dtype form = info(f).partner;
          std::ranges::none_of(all, [&](const register_image& r) { return r.as == form; }))
        all.push_back({.width = cols, .as = form, .numbers = numbers, .runs = runs});
    return all;
  }
  weight_image matrix(dtype f, u32 rows, u32 seed, u32 count = 1) const {
    return {.type = f, .count = count, .rows = rows, .cols = cols, .seed = seed};
  }
  parity_case with(std::string_view what, const params& p, u32 units, double within = matrix_within) const {
    parity_case c{.what = std::string(what) + ", " + std::to_string(tokens) + " tokens",
                  .tokens = tokens,
                  .by = split::rows,
                  .units = units,
                  .within = within};
    c.p = p, c.in = inputs(tokens);
    return c;
  }
};
template <class F> std::vector<parity_case> for_each_count(kernel_types t, F f) {
  std::vector<parity_case> all;
  for (const u32 tokens : some_tokens) f(matrix_shapes{t, tokens}, all);
  return all;
}

// One matrix, with a bias and without.
inline std::vector<parity_case> one_matrix_cases(kernel_types t, bool adds) {
  return for_each_count(t, [&](const matrix_shapes& m, auto& all) {
    matmul_params p{.rows = some_rows, .cols = m.cols};
    parity_case c = m.with("one matrix", p, 2);
    c.weights = {m.matrix(t.first, some_rows, 1)}, c.out = {{.width = some_rows}};
    if (adds) c.out = {random_rows(some_rows, 9, 1, m.tokens)};
    all.push_back(c);
    p.bias = true;
    c.what += ", a bias", c.p = p, c.weights.push_back({.vector = random_row(some_rows, 4)});
    all.push_back(c);
  });
}
template <> struct driver<opcode::logits> {
  static std::vector<parity_case> cases(kernel_types t) { return one_matrix_cases(t, false); }
};
template <> struct driver<opcode::vision_patch_embed> {
  static std::vector<parity_case> cases(kernel_types t) { return one_matrix_cases(t, false); }
};
template <> struct driver<opcode::matmul_add> {
  static std::vector<parity_case> cases(kernel_types t) { return one_matrix_cases(t, true); }
};
template <> struct driver<opcode::matmul> {
  static std::vector<parity_case> cases(kernel_types t) {
    std::vector<parity_case> all = t.second == dtype::none ? one_matrix_cases(t, false) : std::vector<parity_case>{};
    for (const parity_case& c : for_each_count(t, [&](const matrix_shapes& m, auto& more) {
           parity_case two = m.with("gate and up", matmul_params{.rows = some_rows, .cols = m.cols, .matrices = 2}, 2);
           two.weights = {m.matrix(t.first, some_rows, 1), m.matrix(m.second, some_rows, 2)},
           two.out = {{.width = 2 * some_rows}};
           more.push_back(two);
           if (t.second != dtype::none) return;
           parity_case heads =
               m.with("rows of two heads", matmul_params{.rows = some_rows, .cols = m.cols, .groups = 2}, 2);
           heads.weights = {m.matrix(t.first, some_rows / 2, 1, 2)}, heads.out = {{.width = some_rows}};
           more.push_back(heads);
         }))
      all.push_back(c);
    return all;
  }
};
template <> struct driver<opcode::qkv_matmul> {
  static std::vector<parity_case> cases(kernel_types t) {
    return for_each_count(t, [&](const matrix_shapes& m, auto& all) {
      qkv_params p{.q_rows = 2 * some_rows, .k_rows = some_rows, .v_rows = some_rows, .cols = m.cols, .kv_heads = 2};
      parity_case c = m.with("by rows", p, 8);  // two heads: of q two units each, of k and v one
      c.weights = {m.matrix(t.first, some_rows, 1, 2), m.matrix(m.second, some_rows / 2, 2, 2),
                   m.matrix(m.third, some_rows / 2, 5, 2)};
      c.out = {{.width = 2 * some_rows}, {.width = some_rows}, {.width = some_rows}};
      all.push_back(c);
      p.bias = true;
      c.what += ", by heads, biases", c.p = p, c.by = split::kv_heads, c.units = 2;
      for (const register_image& out : c.out) c.weights.push_back({.vector = random_row(out.width, out.width)});
      all.push_back(c);
    });
  }
};

// act(G x) * (U x), or act(U x), in each form that the next matrix may take.
inline std::vector<parity_case> activated_cases(kernel_types t, bool gated, std::initializer_list<dtype> forms) {
  return for_each_count(t, [&](const matrix_shapes& m, auto& all) {
    for (const dtype form : forms) {
      const u32 rows = form == dtype::q8_0 ? 64 : some_rows;
      matmul_act_params p{{.rows = rows, .cols = m.cols, .matrices = gated ? 2u : 1u}};
      parity_case c = m.with(text(gated ? "gated" : "alone", rows, form), p, 2, within_of(form, matrix_within));
      c.weights = {m.matrix(t.first, rows, 1)}, c.out = {{.width = rows, .as = form}};
      if (gated) c.weights.push_back(m.matrix(m.second, rows, 2));
      all.push_back(c);
      if (!gated) continue;
      p.matmul.bias = true;
      c.what += ", biases", c.p = p;
      for (const u32 seed : {7u, 8u}) c.weights.push_back({.vector = random_row(rows, seed)});
      all.push_back(c);
    }
  });
}
template <> struct driver<opcode::matmul_act> {
  static std::vector<parity_case> cases(kernel_types t) { return activated_cases(t, true, {dtype::f32}); }
};
template <> struct driver<opcode::matmul_act_quantize> {
  static std::vector<parity_case> cases(kernel_types t) { return activated_cases(t, true, {dtype::bf16, dtype::q8_0}); }
};
template <> struct driver<opcode::up_act> {
  static std::vector<parity_case> cases(kernel_types t) { return activated_cases(t, false, {dtype::f32}); }
};
template <> struct driver<opcode::up_act_quantize> {
  static std::vector<parity_case> cases(kernel_types t) {
    return activated_cases(t, false, {dtype::bf16, dtype::q8_0});
  }
};

template <> struct driver<opcode::embedding> {
  static std::vector<parity_case> cases(kernel_types t) {
    return for_each_count(t, [&](const matrix_shapes& m, auto& all) {
      parity_case c =
          m.with("ids", embedding_params{.rows = some_rows, .cols = m.cols}, ceil_div(m.tokens, unit_tokens), 0);
      c.by = split::tokens, c.in = {{.width = 1}};
      for (u32 i = 0; i < m.tokens; ++i) c.in[0].words.push_back((i * 17 + 39) % some_rows);
      c.weights = {m.matrix(t.first, some_rows, 1)}, c.out = {{.width = m.cols}};
      all.push_back(c);
    });
  }
};

template <> struct driver<opcode::head_matmul> {
  static std::vector<parity_case> cases(kernel_types t) {
    return for_each_count(t, [&](const matrix_shapes& m, auto& all) {
      const u32 heads = 3, apart = some_rows + 6;  // what lies between is another step's
      const head_matmul_params p{.heads = heads, .rows = some_rows, .cols = m.cols, .head_dim = apart};
      parity_case c = m.with("heads", p, heads * units_of_group(some_rows));
      c.in = m.inputs(heads * m.tokens, std::vector<u32>(heads, m.tokens));
      c.weights = {m.matrix(t.first, some_rows, 1, heads)}, c.out = {random_rows(heads * apart, 2, 1, m.tokens)};
      all.push_back(c);
    });
  }
};

// ---- experts --------------------------------------------------------------------------------------

template <> struct driver<opcode::router> {
  static std::vector<parity_case> cases(kernel_types t) {
    std::vector<parity_case> all = one_matrix_cases(t, false);
    for (parity_case c : one_matrix_cases(t, false))
      c.what += ", by tokens", c.by = split::tokens, c.units = ceil_div(c.tokens, unit_tokens), all.push_back(c);
    return all;
  }
};

// The rows of a pass, expert by expert; one token alone is gathered once.
inline std::vector<parity_case> expert_cases(kernel_types t, bool gated) {
  std::vector<parity_case> all;
  const router r = some_router();
  for (const u32 tokens : expert_tokens)
    for (const dtype form : {dtype::f32, dtype::q8_0}) {
      const matrix_shapes m{t, tokens};
      const sorted_rows order = sorted(r, tokens);
      const u32 hidden = form == dtype::q8_0 ? 64 : some_rows, rows = tokens == 1 ? 1 : tokens * r.active;
      const expert_params p{.rows = hidden, .cols = m.cols, .route = r};
      parity_case c = m.with(text("experts", hidden, form), p, most_experts(r, tokens) * units_of_group(hidden),
                             within_of(form, matrix_within));
      c.by = split::experts, c.in = m.inputs(rows, tokens == 1 ? std::vector<u32>{} : order.runs);
      c.in.insert(c.in.begin(), order.image(r));
      c.out = {{.width = hidden, .as = form, .runs = order.runs, .rows = tokens * r.active}};
      c.weights = {m.matrix(t.first, hidden, 1, r.experts)};
      if (gated) c.weights.push_back(m.matrix(m.second, hidden, 2, r.experts));
      all.push_back(c);
    }
  return all;
}
template <> struct driver<opcode::expert_act> {
  static std::vector<parity_case> cases(kernel_types t) { return expert_cases(t, true); }
};
template <> struct driver<opcode::expert_up> {
  static std::vector<parity_case> cases(kernel_types t) { return expert_cases(t, false); }
};

inline std::vector<parity_case> expert_sum_cases(kernel_types t, bool adds) {
  std::vector<parity_case> all;
  const router r = some_router();
  for (const u32 tokens : expert_tokens)
    for (const bool shared : {false, true}) {
      const matrix_shapes m{t, tokens};
      const sorted_rows order = sorted(r, tokens);
      const expert_sum_params p{.rows = some_rows, .cols = m.cols, .shared = shared, .shared_gate = shared, .route = r};
      parity_case c = m.with(shared ? "and a shared expert" : "experts", p, 2);
      c.in = {order.image(r), m.inputs(tokens * r.active, order.runs)[0]};
      if (shared) c.in.push_back(random_rows(some_rows, 5, 1, tokens)), c.in.push_back(random_rows(1, 6, 1, tokens));
      c.weights = {m.matrix(t.first, some_rows, 1, r.experts)}, c.out = {{.width = some_rows}};
      if (adds) c.out = {random_rows(some_rows, 9, 1, tokens)};
      all.push_back(c);
    }
  return all;
}
template <> struct driver<opcode::expert_sum> {
  static std::vector<parity_case> cases(kernel_types t) { return expert_sum_cases(t, false); }
};
template <> struct driver<opcode::expert_sum_add> {
  static std::vector<parity_case> cases(kernel_types t) { return expert_sum_cases(t, true); }
};

}  // namespace parity

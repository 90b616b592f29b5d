// SPDX-License-Identifier: MIT
// drivers_rows.hpp: cases of the steps that work on rows of floats, and on the choices of a router.
#pragma once

#include "parity.hpp"

namespace parity {

// Numbers that two instruction sets compute a little apart may be rounded to neighbours: one step of the form.
constexpr double within_of(dtype form, double as_floats) {
  return form == dtype::q8_0 ? 3e-2 : form == dtype::bf16 ? 8e-3 : as_floats;
}
// Rows for which a form has room: whole blocks of q8_0.
inline constexpr u32 odd_widths[] = {1, 7, 33, 96};
inline std::vector<u32> widths_for(dtype form) {
  if (form == dtype::q8_0) return {32, 96, 160};
  return {std::begin(odd_widths), std::end(odd_widths)};
}
inline constexpr dtype register_forms[] = {dtype::f32, dtype::bf16, dtype::q8_0};

constexpr u32 row_tokens = 19;  // one whole unit of tokens and a part of one
inline register_image random_rows(u32 width, u32 seed, float spread = 1, u32 rows = row_tokens) {
  return {.width = width, .numbers = random_row(u64{rows} * width, seed, spread)};
}
inline std::string text(std::string_view what, u32 width, dtype form = dtype::f32) {
  return std::string(what) + ", " + std::to_string(width) + " columns, as " + std::string(info(form).name);
}

// Rows in, rows out; units are runs of tokens, or one.
inline parity_case row_case(std::string_view what, const params& p, u32 cols, dtype form, double within) {
  parity_case c{
      .what = text(what, cols, form), .p = p, .tokens = row_tokens, .by = split::tokens, .units = 2, .within = within};
  c.out = {{.width = cols, .as = form}};
  return c;
}

inline std::vector<parity_case> norm_cases(bool quantized) {
  std::vector<parity_case> all;
  for (const dtype form : register_forms)
    for (const u32 cols : widths_for(form)) {
      if (form != dtype::f32 && !quantized) continue;
      norm_params p{.cols = cols, .eps = 1e-5};
      parity_case c = row_case("norm", p, cols, form, within_of(form, 2e-6));
      c.in = {random_rows(cols, 1, 3)}, c.weights = {{.vector = random_row(cols, 2)}};
      all.push_back(c);
      p.offset = 1, p.scale = 0.25f;
      c.what = text("one unit, an offset, a scale", cols, form), c.p = p;
      c.by = split::per_thread, c.units = 1;
      all.push_back(c);
      if (cols % 3 != 0) continue;
      p.parts = 3;
      c.what = text("three parts", cols, form), c.p = p;
      all.push_back(c);
    }
  return all;
}
template <> struct driver<opcode::rmsnorm> {
  static std::vector<parity_case> cases(kernel_types) { return norm_cases(false); }
};
template <> struct driver<opcode::norm_quantize> {
  static std::vector<parity_case> cases(kernel_types) { return norm_cases(true); }
};

template <> struct driver<opcode::quantize> {
  static std::vector<parity_case> cases(kernel_types) {
    std::vector<parity_case> all;
    for (const dtype form : register_forms)
      for (const u32 cols : widths_for(form)) {
        parity_case c = row_case("rows", row_params{cols}, cols, form, 0);
        c.in = {random_rows(cols, cols, 3)};
        all.push_back(c);
      }
    return all;
  }
};

// f(inputs) on rows of every odd width, which `p` is given: the same bits, or close.
template <class Block> std::vector<parity_case> pointwise_cases(Block p, u32 inputs, double within,
                                                                dtype form = dtype::f32) {
  std::vector<parity_case> all;
  for (const u32 cols : widths_for(form)) {
    p.cols = cols;
    parity_case c = row_case("rows", p, cols, form, within);
    for (u32 i = 0; i < inputs; ++i) c.in.push_back(random_rows(cols, 5 + i, 3));
    all.push_back(c);
  }
  return all;
}
template <> struct driver<opcode::residual_save> {
  static std::vector<parity_case> cases(kernel_types) { return pointwise_cases(row_params{}, 1, 0); }
};
template <> struct driver<opcode::residual_add> {
  static std::vector<parity_case> cases(kernel_types) { return pointwise_cases(row_params{}, 2, 0); }
};
template <> struct driver<opcode::scale> {
  static std::vector<parity_case> cases(kernel_types) {
    const scale_params p{.scale = 0.3f};
    std::vector<parity_case> all = pointwise_cases(p, 1, 0);
    for (parity_case c : pointwise_cases(p, 1, 0))
      c.what += ", a learned scale", c.weights = {{.vector = {-1.7f}}}, all.push_back(c);
    return all;
  }
};
template <> struct driver<opcode::softcap> {
  static std::vector<parity_case> cases(kernel_types) { return pointwise_cases(softcap_params{.cap = 2.5}, 1, 2e-6); }
};
template <> struct driver<opcode::gate_mul> {
  static std::vector<parity_case> cases(kernel_types) { return pointwise_cases(row_params{}, 2, 2e-6); }
};
template <> struct driver<opcode::act> {
  static std::vector<parity_case> cases(kernel_types) { return pointwise_cases(act_params{}, 1, 2e-6); }
};
inline std::vector<parity_case> gated_cases(bool quantized) {
  std::vector<parity_case> all;
  for (const dtype form : register_forms) {
    if (form != dtype::f32 && !quantized) continue;
    for (parity_case c : pointwise_cases(act_params{}, 2, within_of(form, 2e-6), form)) {
      all.push_back(c);
      c.what += ", gate and up side by side";
      c.in = {random_rows(2 * c.p.as<act_params>().cols, 9)};
      all.push_back(c);
    }
  }
  return all;
}
template <> struct driver<opcode::act_mul> {
  static std::vector<parity_case> cases(kernel_types) { return gated_cases(false); }
};
template <> struct driver<opcode::act_mul_quantize> {
  static std::vector<parity_case> cases(kernel_types) { return gated_cases(true); }
};

// ---- experts: who chooses whom -------------------------------------------------------------------

inline router some_router(scoring score = scoring::softmax) { return {.experts = 6, .active = 3, .score = score}; }

template <> struct driver<opcode::route> {
  static std::vector<parity_case> cases(kernel_types) {
    std::vector<parity_case> all;
    const auto add = [&](std::string what, const router& r) {
      parity_case c{
          .what = std::move(what), .p = route_params{r}, .tokens = row_tokens, .by = split::tokens, .units = 2};
      c.in = {random_rows(r.experts, 3, 2)}, c.out = {{.width = 2 * r.active}};
      c.weights = {{.vector = random_row(r.experts, 4)}, {.vector = random_row(r.experts, 6)}};
      all.push_back(c);
    };
    for (const scoring s : {scoring::softmax, scoring::softmax_of_chosen, scoring::sigmoid}) {
      add("scores " + std::to_string(static_cast<int>(s)), some_router(s));
      router r{.experts = 12, .active = 4, .score = s, .bias = s == scoring::sigmoid, .groups = 4, .groups_kept = 2};
      r.renormalise = true, r.scale = 2.5, r.expert_scale = true, r.group_by = group_score::best_two;
      add("groups, scores " + std::to_string(static_cast<int>(s)), r);
    }
    return all;
  }
};

// What `tokens` tokens chose, as `route` leaves it: the last expert is chosen by none.
inline register_image choices_of(const router& r, u32 tokens) {
  register_image out{.width = 2 * r.active};
  const auto weights = random_row(u64{tokens} * r.active, 5);
  std::mt19937 random(6);
  for (u32 t = 0; t < tokens; ++t) {
    std::vector<u32> order(r.experts - 1);
    for (u32 e = 0; e < order.size(); ++e) order[e] = e;
    std::shuffle(order.begin(), order.end(), random);
    for (u32 k = 0; k < r.active; ++k) out.numbers.push_back(static_cast<float>(order[k]));
    out.numbers.insert(out.numbers.end(), &weights[t * r.active], &weights[t * r.active] + r.active);
  }
  return out;
}
// The register of the rows (token, expert), and how many each listed expert has: what sort_by_expert leaves.
struct sorted_rows {
  std::vector<u32> words, runs;
  register_image image(const router& r) const { return {.width = 4 * r.active, .words = words}; }
};
inline sorted_rows sorted(const router& r, u32 tokens) {
  const register_image chosen = choices_of(r, tokens);
  sorted_rows out{std::vector<u32>(4 * tokens * r.active + 2, 0), {}};
  const expert_rows rows(view{reinterpret_cast<std::byte*>(out.words.data()), 0, 0}, r, tokens);
  u32 row = 0;
  for (u32 e = 0; e < r.experts; ++e) {
    const u32 begin = row;
    for (u32 t = 0; t < tokens; ++t)
      for (u32 k = 0; k < r.active; ++k) {
        const float* const of_token = &chosen.numbers[u64{t} * 2 * r.active];
        if (static_cast<u32>(of_token[k]) != e) continue;
        rows.token()[row] = t, rows.weight()[row++] = of_token[r.active + k];
      }
    if (row == begin) continue;
    rows.expert()[rows.count()] = e, rows.first()[rows.count()++] = begin, out.runs.push_back(row - begin);
  }
  rows.first()[rows.count()] = row;
  return out;
}
inline constexpr u32 expert_tokens[] = {1, 2, 37};

template <> struct driver<opcode::sort_by_expert> {
  static std::vector<parity_case> cases(kernel_types) {
    std::vector<parity_case> all;
    const router r = some_router();
    for (const u32 tokens : expert_tokens) {
      parity_case c{.what = std::to_string(tokens) + " tokens",
                    .p = route_params{r},
                    .tokens = tokens,
                    .by = split::per_thread,
                    .units = 1};
      c.in = {choices_of(r, tokens)}, c.out = {{.width = 4 * r.active, .unread = true}};
      c.stored = [](const parity_case& of, const work& w) {
        const expert_rows rows(w.out[0], of.p.as<route_params>().route, w.tokens);
        std::vector<float> out{static_cast<float>(rows.count())};
        for (u32 i = 0; i < rows.count(); ++i)
          out.push_back(static_cast<float>(rows.expert()[i])), out.push_back(static_cast<float>(rows.first()[i + 1]));
        for (u32 i = 0; i < rows.all; ++i)
          out.push_back(static_cast<float>(rows.token()[i])), out.push_back(rows.weight()[i]);
        return out;
      };
      all.push_back(c);
    }
    return all;
  }
};

template <> struct driver<opcode::gather> {
  static std::vector<parity_case> cases(kernel_types) {
    std::vector<parity_case> all;
    const router r = some_router();
    for (const u32 tokens : expert_tokens)
      for (const dtype form : register_forms)
        for (const split by : {split::tokens, split::per_thread})
          for (const u32 cols : widths_for(form)) {
            const sorted_rows order = sorted(r, tokens);
            parity_case c{.what = text(std::to_string(tokens) + " tokens", cols, form),
                          .p = gather_params{cols, r},
                          .tokens = tokens,
                          .by = by};
            c.units = by == split::tokens ? ceil_div(tokens, unit_tokens) : 1;
            c.in = {order.image(r), random_rows(cols, 7, 1, tokens)};
            c.out = {{.width = cols, .as = form, .runs = order.runs, .rows = tokens * r.active}};
            if (tokens == 1) c.out[0].runs = {1}, c.out[0].rows = 1;  // all its experts read one row
            all.push_back(c);
          }
    return all;
  }
};

}  // namespace parity

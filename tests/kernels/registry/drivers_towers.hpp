// SPDX-License-Identifier: MIT
// drivers_towers.hpp: cases of the steps of vision towers on rows of floats.
#pragma once

#include "drivers_rows.hpp"

namespace parity {

inline std::vector<parity_case> layer_norm_cases(bool quantized) {
  std::vector<parity_case> all;
  for (const dtype form : register_forms)
    for (const u32 cols : widths_for(form)) {
      if (form != dtype::f32 && !quantized) continue;
      parity_case c = row_case("layer norm", norm_params{.cols = cols, .eps = 1e-5}, cols, form, within_of(form, 4e-6));
      c.in = {random_rows(cols, 1, 3)};
      c.weights = {{.vector = random_row(cols, 2)}, {.vector = random_row(cols, 3)}};
      all.push_back(c);
      c.what = text("one unit", cols, form), c.by = split::per_thread, c.units = 1;
      all.push_back(c);
    }
  return all;
}
template <> struct driver<opcode::layer_norm> {
  static std::vector<parity_case> cases(kernel_types) { return layer_norm_cases(false); }
};
template <> struct driver<opcode::layer_norm_quantize> {
  static std::vector<parity_case> cases(kernel_types) { return layer_norm_cases(true); }
};

template <> struct driver<opcode::learned_positions> {
  static std::vector<parity_case> cases(kernel_types) {
    std::vector<parity_case> all;
    for (const u32 taps : {1u, 2u, 4u, 9u})
      for (const u32 cols : odd_widths) {
        constexpr u32 rows = 12;
        parity_case c = row_case(std::to_string(taps) + " rows of the table",
                                 positions_params{.rows = rows, .cols = cols}, cols, dtype::f32, 0);
        c.in = {random_rows(cols, 1)}, c.weights = {{.vector = random_row(u64{rows} * cols, 2)}};
        c.table_rows = taps, c.table_weight = random_row(u64{taps} * row_tokens, 3);
        for (u32 i = 0; i < taps * row_tokens; ++i) c.table_index.push_back(i * 7 % rows);
        all.push_back(c);
      }
    return all;
  }
};

template <> struct driver<opcode::affine> {
  static std::vector<parity_case> cases(kernel_types) {
    return pointwise_cases(affine_params{.by = 2.5, .offset = -1.25}, 1, 0);
  }
};
template <> struct driver<opcode::standardise> {
  static std::vector<parity_case> cases(kernel_types) {
    std::vector<parity_case> all = pointwise_cases(row_params{}, 1, 0);
    for (parity_case& c : all)
      c.weights = {{.vector = random_row(c.out[0].width, 2)}, {.vector = random_row(c.out[0].width, 3)}};
    return all;
  }
};
template <> struct driver<opcode::clamp> {
  static std::vector<parity_case> cases(kernel_types) {
    std::vector<parity_case> all = pointwise_cases(row_params{}, 1, 0);
    for (parity_case& c : all) c.weights = {{.vector = {-0.7f}}, {.vector = {1.3f}}};
    return all;
  }
};

template <> struct driver<opcode::scatter> {
  static std::vector<parity_case> cases(kernel_types) {
    static const std::vector<float> images = random_row(4096, 9);
    std::vector<parity_case> all;
    for (const u32 parts : {0u, 2u})
      for (const u32 cols : odd_widths) {
        parity_case c = row_case(std::to_string(parts) + " parts", scatter_params{.cols = cols, .parts = parts}, cols,
                                 dtype::f32, 0);
        c.in = {random_rows(cols, 1)};
        if (parts > 0) c.out.push_back({.width = parts * cols});
        for (u32 t = 0; t < row_tokens; ++t) c.features.push_back(t % 3 == 1 ? &images[t] : nullptr);
        all.push_back(c);
      }
    return all;
  }
};

// Rows of which `by` become one: `wide`, of their numbers one after the other.
inline std::vector<parity_case> merge_cases(bool wide) {
  std::vector<parity_case> all;
  for (const u32 by : {1u, 4u, 9u})
    for (const u32 cols : odd_widths) {
      parity_case c = row_case(std::to_string(by) + " rows", merge_params{.cols = cols, .by = by},
                               wide ? by * cols : cols, dtype::f32, 0);
      c.in = {random_rows(cols, by, 2, by * row_tokens)};
      all.push_back(c);
      if (!wide) continue;
      c.what += ", column by column", c.p = merge_params{.cols = cols, .by = by, .interleaved = true};
      all.push_back(c);
    }
  return all;
}
template <> struct driver<opcode::spatial_merge> {
  static std::vector<parity_case> cases(kernel_types) { return merge_cases(true); }
};
template <> struct driver<opcode::last_row> {
  static std::vector<parity_case> cases(kernel_types) { return merge_cases(false); }
};
template <> struct driver<opcode::attention_pool> {
  static std::vector<parity_case> cases(kernel_types) {
    std::vector<parity_case> all;
    for (const u32 by : {1u, 9u})
      for (const u32 head_dim : {1u, 20u, 32u}) {
        constexpr u32 heads = 3;
        const u32 cols = heads * head_dim;
        parity_case c = row_case(std::to_string(by) + " rows, head_dim " + std::to_string(head_dim),
                                 pool_params{.heads = heads, .head_dim = head_dim, .by = by}, cols, dtype::f32, 0);
        c.in = {random_rows(cols, 1), random_rows(cols, 2, 2, by * row_tokens),
                random_rows(cols, 3, 2, by * row_tokens)};
        all.push_back(c);
      }
    return all;
  }
};
template <> struct driver<opcode::learned_row> {
  static std::vector<parity_case> cases(kernel_types) {
    std::vector<parity_case> all;
    for (const u32 cols : odd_widths) {
      parity_case c = row_case("a row", row_params{cols}, cols, dtype::f32, 0);
      c.weights = {{.vector = random_row(cols, 2)}};
      all.push_back(c);
    }
    return all;
  }
};
template <> struct driver<opcode::average_pool> {
  static std::vector<parity_case> cases(kernel_types) { return merge_cases(false); }
};

}  // namespace parity

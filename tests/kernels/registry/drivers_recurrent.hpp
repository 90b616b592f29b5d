// SPDX-License-Identifier: MIT
// drivers_recurrent.hpp: cases of the steps that keep a recurrent state, over the border of two pages.
#pragma once

#include "parity.hpp"

namespace parity {

constexpr u32 recurrent_tokens = key_block + 13;
constexpr double recurrent_within = 2e-5;  // as recurrent.cpp against torch and transformers

inline register_image token_rows(u32 width, u32 seed, float spread = 1) {
  return {.width = width, .numbers = random_row(u64{recurrent_tokens} * width, seed, spread)};
}
// One sequence from position 0, with `bytes` of state in each page.
inline parity_case recurrent_case(std::string what, const params& p, split by, u32 units, u64 bytes) {
  parity_case c{.what = std::move(what),
                .p = p,
                .tokens = recurrent_tokens,
                .by = by,
                .units = units,
                .within = recurrent_within};
  c.kv = {64, 0, 1}, c.page_bytes = c.kv.offset + align_up(bytes), c.pages.resize(2 * c.page_bytes, std::byte{0xff});
  return c;
}

// A convolution of each shape; `as` makes the operation's block of it.
inline std::vector<parity_case> conv_cases(bool gated, params as(const conv_params&)) {
  std::vector<parity_case> all;
  for (const u32 channels : {1u, 31u, 33u, 70u})
    for (const u32 taps : {1u, 3u, 4u})
      for (const bool bias : {false, true}) {
        const params p = as({.channels = channels, .taps = taps, .bias = bias});
        parity_case c = recurrent_case(std::to_string(channels) + " channels, " + std::to_string(taps) + " taps", p,
                                       split::rows, ceil_div(channels, unit_rows),
                                       u64{taps - 1} * align_up(channels, unit_rows) * sizeof(float));
        c.in = {token_rows(gated ? 3 * channels : channels, 1)}, c.out = {{.width = channels}};
        c.weights = {{.vector = random_row(u64{taps} * channels, 2)}, {.vector = random_row(channels, 3)}};
        all.push_back(c);
      }
  return all;
}
template <> struct driver<opcode::gated_conv> {
  static std::vector<parity_case> cases(kernel_types) {
    return conv_cases(true, [](const conv_params& p) -> params { return p; });
  }
};
template <> struct driver<opcode::causal_conv> {
  static std::vector<parity_case> cases(kernel_types) {
    return conv_cases(false, [](const conv_params& p) -> params { return conv_act_params{p}; });
  }
};

template <> struct driver<opcode::gated_delta> {
  static std::vector<parity_case> cases(kernel_types) {
    struct shape {
      u32 key_heads, heads, keys, values;
      bool tiled;
    };
    std::vector<parity_case> all;
    for (const shape s :
         {shape{1, 1, 1, 1, false}, {2, 6, 20, 40, false}, {2, 6, 20, 40, true}, {3, 3, 33, 31, false}}) {
      const delta_params p{.key_heads = s.key_heads,
                           .value_heads = s.heads,
                           .key_dim = s.keys,
                           .value_dim = s.values,
                           .tiled = s.tiled,
                           .eps = 1e-5};
      parity_case c = recurrent_case(std::to_string(s.keys) + " x " + std::to_string(s.values), p, split::kv_heads,
                                     s.heads, u64{s.heads} * s.keys * align_up(s.values, unit_rows) * sizeof(float));
      for (const u32 width :
           {s.key_heads * s.keys, s.key_heads * s.keys, s.heads * s.values, s.heads * s.values, 2 * s.heads})
        c.in.push_back(token_rows(width, static_cast<u32>(c.in.size()) + 1));
      c.weights = {
          {.vector = random_row(s.heads, 6)}, {.vector = random_row(s.heads, 7)}, {.vector = random_row(s.values, 8)}};
      c.out = {{.width = s.heads * s.values}};
      all.push_back(c);
    }
    return all;
  }
};

template <> struct driver<opcode::state_scan> {
  static std::vector<parity_case> cases(kernel_types) {
    struct shape {
      u32 heads, dims, groups, numbers;
    };
    std::vector<parity_case> all;
    for (const shape s : {shape{1, 1, 1, 1}, {6, 40, 2, 20}, {3, 31, 3, 33}}) {
      const scan_params p{.heads = s.heads,
                          .groups = s.groups,
                          .head_dim = s.dims,
                          .state = s.numbers,
                          .least_step = 1e-3f,
                          .most_step = s.dims == 40 ? 0.1f : 0.f};
      parity_case c = recurrent_case(std::to_string(s.numbers) + " x " + std::to_string(s.dims), p, split::kv_heads,
                                     s.heads, u64{s.heads} * s.numbers * align_up(s.dims, unit_rows) * sizeof(float));
      c.in = {token_rows(s.heads * s.dims + 2 * s.groups * s.numbers, 1), token_rows(s.heads * s.dims, 2),
              token_rows(s.heads, 3)};
      for (u32 i = 0; i < 3; ++i) c.weights.push_back({.vector = random_row(s.heads, 4 + i)});
      c.out = {{.width = s.heads * s.dims}};
      all.push_back(c);
    }
    return all;
  }
};

}  // namespace parity

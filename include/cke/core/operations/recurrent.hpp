// SPDX-License-Identifier: MIT
// recurrent.hpp: steps with recurrent states: convolutions, the gated delta rule, mamba2's scan. Kernels:
// kernels/short_conv.hpp, kernels/gated_delta.hpp, kernels/state_scan.hpp.
#pragma once

#include "../opcode.hpp"
#include "../params.hpp"

namespace cke {

struct conv_params {
  u32 channels{}, taps{};
  bool bias{};
  constexpr void each(auto&& f) const { f("channels", channels), f("taps", taps), f("bias", bias); }
  constexpr bool operator==(const conv_params&) const = default;
};
struct conv_act_params {
  conv_params conv;
  activation act{};
  constexpr void each(auto&& f) const { conv.each(f), f("activation", act); }
  constexpr bool operator==(const conv_act_params&) const = default;
};
// A state of [key_dim][value_dim] for each value head.
struct delta_params {
  u32 key_heads{}, value_heads{}, key_dim{}, value_dim{};
  bool tiled{};  // value head i uses key head i % key_heads, not i / (value_heads / key_heads)
  real eps{};
  constexpr u32 head_units() const { return value_heads; }
  constexpr u32 key_head(u32 value_head) const {
    return tiled ? value_head % key_heads : value_head / (value_heads / key_heads);
  }
  constexpr void each(auto&& f) const {
    f("key_heads", key_heads), f("value_heads", value_heads), f("key_dim", key_dim), f("value_dim", value_dim);
    f("tiled", tiled), f("eps", eps);
  }
  constexpr bool operator==(const delta_params&) const = default;
};
// A state of [state][head_dim] for each head; the heads of a group share B and C.
struct scan_params {
  u32 heads{}, groups{}, head_dim{}, state{};
  real least_step{}, most_step{};  // most_step 0: no limit
  constexpr u32 head_units() const { return heads; }
  constexpr void each(auto&& f) const {
    f("heads", heads), f("groups", groups), f("head_dim", head_dim), f("state", state);
    f("least_step", least_step), f("most_step", most_step);
  }
  constexpr bool operator==(const scan_params&) const = default;
};

template <> struct operation<opcode::gated_conv> {
  using params = conv_params;
  static constexpr op_facts facts{"gated_conv", {split::rows, false}, {split::rows, false}};
};
template <> struct operation<opcode::causal_conv> {
  using params = conv_act_params;
  static constexpr op_facts facts{"causal_conv", {split::rows, false}, {split::rows, false}};
};
template <> struct operation<opcode::gated_delta> {
  using params = delta_params;
  static constexpr op_facts facts{"gated_delta", {split::kv_heads, false}, {split::kv_heads, false}};
};
template <> struct operation<opcode::state_scan> {
  using params = scan_params;
  static constexpr op_facts facts{"state_scan", {split::kv_heads, false}, {split::kv_heads, false}};
};

}  // namespace cke

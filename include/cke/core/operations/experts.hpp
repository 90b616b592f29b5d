// SPDX-License-Identifier: MIT
// experts.hpp: the steps of a mixture of experts. Kernels: kernels/experts.hpp.
#pragma once

#include "linear.hpp"

namespace cke {

struct route_params {
  router route{};
  constexpr void each(auto&& f) const { f("route", route); }
  constexpr bool operator==(const route_params&) const = default;
};
// Rows of `cols` numbers, one for each token or one for each of its experts.
struct gather_params {
  u32 cols{};
  router route{};
  constexpr void each(auto&& f) const { f("cols", cols), f("route", route); }
  constexpr bool operator==(const gather_params&) const = default;
};
// Matrices [rows][cols] of each expert: gate and up, or up alone.
struct expert_params {
  u32 rows{}, cols{};
  activation act{};
  router route{};
  constexpr void each(auto&& f) const { f("rows", rows), f("cols", cols), f("activation", act), f("route", route); }
  constexpr bool operator==(const expert_params&) const = default;
};
struct expert_sum_params {
  u32 rows{}, cols{};            // of each expert's down
  bool shared{}, shared_gate{};  // whether a shared expert's output is added, and whether that is gated
  router route{};
  constexpr void each(auto&& f) const {
    f("rows", rows), f("cols", cols), f("shared", shared), f("shared_gate", shared_gate), f("route", route);
  }
  constexpr bool operator==(const expert_sum_params&) const = default;
};

template <> struct operation<opcode::router> {
  using params = matmul_params;
  static constexpr op_facts facts{"router", {split::rows, false}, {split::tokens, true}, typed_by::weights};
};
template <> struct operation<opcode::route> {
  using params = route_params;
  static constexpr op_facts facts{"route", {split::per_thread, false}, {split::tokens, true}};
};
template <> struct operation<opcode::sort_by_expert> {
  using params = route_params;
  static constexpr op_facts facts{"sort_by_expert", {split::per_thread, false}, {split::per_thread, false}};
};
template <> struct operation<opcode::gather> {
  using params = gather_params;
  static constexpr op_facts facts{"gather", {split::per_thread, false}, {split::tokens, false}};
};
template <> struct operation<opcode::expert_act> {
  using params = expert_params;
  static constexpr op_facts facts{"expert_act", {split::experts, false}, {split::experts, false}, typed_by::weights};
};
template <> struct operation<opcode::expert_up> {
  using params = expert_params;
  static constexpr op_facts facts{"expert_up", {split::experts, false}, {split::experts, false}, typed_by::weights};
};
template <> struct operation<opcode::expert_sum> {
  using params = expert_sum_params;
  static constexpr op_facts facts{"expert_sum", {split::rows, false}, {split::rows, false}, typed_by::weights};
};
template <> struct operation<opcode::expert_sum_add> {
  using params = expert_sum_params;
  static constexpr op_facts facts{"expert_sum_add", {split::rows, false}, {split::rows, false}, typed_by::weights};
};

}  // namespace cke

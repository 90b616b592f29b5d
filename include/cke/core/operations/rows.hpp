// SPDX-License-Identifier: MIT
// rows.hpp: operations on rows of tokens: embedding, norms, residuals, activations. Kernels: kernels/rows.hpp.
#pragma once

#include "../opcode.hpp"
#include "../params.hpp"

namespace cke {

// A step that needs only the length of its rows.
struct row_params {
  u32 cols{};
  constexpr void each(auto&& f) const { f("cols", cols); }
  constexpr bool operator==(const row_params&) const = default;
};
struct embedding_params {
  u32 rows{}, cols{};  // of the table: ids, and the width of a row
  constexpr void each(auto&& f) const { f("rows", rows), f("cols", cols); }
  constexpr bool operator==(const embedding_params&) const = default;
};
struct norm_params {
  u32 cols{}, parts = 1;  // equal parts of a row, each normed by itself
  real eps{}, offset{};   // of the weights
  real scale{};           // of the result; 0: none
  constexpr void each(auto&& f) const {
    f("cols", cols), f("parts", parts == 1 ? 0 : parts), f("eps", eps), f("offset", offset), f("scale", scale);
  }
  constexpr bool operator==(const norm_params&) const = default;
};
struct scale_params {
  u32 cols{};
  real scale{};  // unless a weight gives it
  constexpr void each(auto&& f) const { f("cols", cols), f("scale", scale); }
  constexpr bool operator==(const scale_params&) const = default;
};
struct softcap_params {
  u32 cols{};
  real cap{};
  constexpr void each(auto&& f) const { f("cols", cols), f("cap", cap); }
  constexpr bool operator==(const softcap_params&) const = default;
};
struct act_params {
  u32 cols{};  // of the result
  activation act{};
  constexpr void each(auto&& f) const { f("cols", cols), f("activation", act); }
  constexpr bool operator==(const act_params&) const = default;
};

template <> struct operation<opcode::embedding> {
  using params = embedding_params;
  static constexpr op_facts facts{"embedding", {split::tokens, true}, {split::tokens, true}, typed_by::weights};
};
template <> struct operation<opcode::residual_save> {
  using params = row_params;
  static constexpr op_facts facts{"residual_save", {split::tokens, false}, {split::tokens, true}};
};
template <> struct operation<opcode::residual_add> {
  using params = row_params;
  static constexpr op_facts facts{"residual_add", {split::tokens, false}, {split::tokens, true}};
};
template <> struct operation<opcode::quantize> {
  using params = row_params;
  static constexpr op_facts facts{"quantize", {split::per_thread, false}, {split::tokens, true}};
};
template <> struct operation<opcode::gate_mul> {
  using params = row_params;
  static constexpr op_facts facts{"gate_mul", {split::per_thread, false}, {split::tokens, true}};
};
template <> struct operation<opcode::scale> {
  using params = scale_params;
  static constexpr op_facts facts{"scale", {split::tokens, true}, {split::tokens, true}};
};
template <> struct operation<opcode::softcap> {
  using params = softcap_params;
  static constexpr op_facts facts{"softcap", {split::tokens, true}, {split::tokens, true}};
};
template <> struct operation<opcode::rmsnorm> {
  using params = norm_params;
  static constexpr op_facts facts{"rmsnorm", {split::per_thread, false}, {split::tokens, true}};
};
template <> struct operation<opcode::norm_quantize> {
  using params = norm_params;
  static constexpr op_facts facts{"norm_quantize", {split::per_thread, false}, {split::tokens, true}};
};
template <> struct operation<opcode::act> {
  using params = act_params;
  static constexpr op_facts facts{"act", {split::tokens, false}, {split::tokens, true}};
};
template <> struct operation<opcode::act_mul> {
  using params = act_params;
  static constexpr op_facts facts{"act_mul", {split::tokens, false}, {split::tokens, true}};
};
template <> struct operation<opcode::act_mul_quantize> {
  using params = act_params;
  static constexpr op_facts facts{"act_mul_quantize", {split::tokens, false}, {split::tokens, true}};
};

}  // namespace cke

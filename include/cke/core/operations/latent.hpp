// SPDX-License-Identifier: MIT
// latent.hpp: the steps of latent attention around the scores. Kernels: kernels/attention/latent.hpp.
#pragma once

#include "heads.hpp"

namespace cke {

// The shape of a row [latent | key to rotate].
struct latent_key_params {
  u32 rank{};  // numbers of the latent
  real eps{};
  rotary rope{};
  constexpr turned_head turned() const { return {&rope, rope.dims}; }
  constexpr void each(auto&& f) const { f("rank", rank), f("eps", eps), f("rope", rope); }
  constexpr bool operator==(const latent_key_params&) const = default;
};
// The first `cols` numbers of each head, which are `head_dim` apart. With a rope, those that follow them are rotated.
struct split_heads_params {
  u32 heads{}, head_dim{}, cols{};
  rotary rope{};
  constexpr turned_head turned() const { return rope.dims ? turned_head{&rope, rope.dims} : turned_head{}; }
  constexpr void each(auto&& f) const { f("heads", heads), f("head_dim", head_dim), f("cols", cols), f("rope", rope); }
  constexpr bool operator==(const split_heads_params&) const = default;
};
// A matrix [rows][cols] for each head; heads of the result are `head_dim` apart.
struct head_matmul_params {
  u32 heads{}, rows{}, cols{}, head_dim{};
  constexpr void each(auto&& f) const { f("heads", heads), f("rows", rows), f("cols", cols), f("head_dim", head_dim); }
  constexpr bool operator==(const head_matmul_params&) const = default;
};

template <> struct operation<opcode::latent_key> {
  using params = latent_key_params;
  static constexpr op_facts facts{"latent_key", {split::per_thread, false}, {split::tokens, true}};
};
template <> struct operation<opcode::split_heads> {
  using params = split_heads_params;
  static constexpr op_facts facts{"split_heads", {split::tokens, false}, {split::tokens, true}};
};
template <> struct operation<opcode::head_matmul> {
  using params = head_matmul_params;
  static constexpr op_facts facts{"head_matmul", {split::rows, false}, {split::rows, false}, typed_by::weights};
};

}  // namespace cke

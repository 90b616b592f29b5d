// SPDX-License-Identifier: MIT
// step_tables.hpp: each code of a program as a table of kernels, one for each of its steps.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "../kernels/kernels.hpp"
#include "workspace.hpp"

namespace cke::runtime {

// A code, its phases in both forms, and the kernels of its steps.
struct step_table {
  const code* c;
  const schedule* phases;  // decode, prefill
  const kernel_entry* steps;
};

// The tables of a program, as in workspace: header, bodies, footer. The compiler picks the kernels here: each kind of
// block is one table, however many layers repeat it.
template <class P, dtype KV, class Isa> class step_tables {
  template <const code& C> struct compiled {
    static constexpr schedule phases[]{phases_of(C, form::decode), phases_of(C, form::prefill)};
    static constexpr auto steps = []<std::size_t... I>(std::index_sequence<I...>) {
      return std::array<kernel_entry, sizeof...(I)>{kernel_of<C.ops[I].op, types_of(C, C.ops[I], KV), Isa>()...};
    }(std::make_index_sequence<C.ops.size()>{});
    static constexpr step_table table{&C, phases, steps.data()};
  };

 public:
  static constexpr std::array<step_table, P::body_count + 2> all = []<std::size_t... V>(std::index_sequence<V...>) {
    return std::array<step_table, P::body_count + 2>{compiled<P::header_code()>::table,
                                                     compiled<P::template body<V>()>::table...,
                                                     compiled<P::footer_code()>::table};
  }(std::make_index_sequence<P::body_count>{});

  // Steps of the longest phase.
  static constexpr u32 widest = [] {
    u32 most = 1;
    for (const step_table& t : all)
      for (const schedule* s : {&t.phases[0], &t.phases[1]})
        for (const phase& p : s->phases) most = std::max(most, u32{p.per_thread} + p.count);
    return most;
  }();

  // A pass visits place 0, the header, then layer l at l + 1, then the footer at P::layers + 1.
  static constexpr u32 index_at(u32 place) {
    return place == 0 ? 0 : place > P::layers ? P::body_count + 1 : P::variants.of[place - 1] + 1u;
  }
};

}  // namespace cke::runtime

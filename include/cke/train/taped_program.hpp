// SPDX-License-Identifier: MIT
// taped_program.hpp: what training needs to know of a program, as data.
#pragma once

#include "tape.hpp"

namespace cke::train {

// Multiplications of an id with the matrices of a step; of experts, with those that it chooses.
inline u64 products_of(const instruction& i) {
  switch (i.op) {
    case opcode::matmul:
    case opcode::logits:
    case opcode::router: {
      const auto& p = i.p.as<matmul_params>();
      return u64{p.matrices} * p.rows * p.cols;
    }
    case opcode::head_matmul: {
      const auto& p = i.p.as<head_matmul_params>();
      return u64{p.heads} * p.rows * p.cols;
    }
    case opcode::expert_act:
    case opcode::expert_up: {
      const auto& p = i.p.as<expert_params>();
      return u64{i.op == opcode::expert_act ? 2u : 1u} * p.route.active * p.rows * p.cols;
    }
    case opcode::expert_sum:
    case opcode::expert_sum_add: {
      const auto& p = i.p.as<expert_sum_params>();
      return u64{p.route.active} * p.rows * p.cols;
    }
    default: return 0;
  }
}

// Places: 0 is the header, l + 1 layer l, layers + 1 the footer.
struct taped_program {
  std::span<const tape> tapes;   // header, kinds of layers, footer
  std::span<const u8> kind_of;   // [layers]
  u32 dim, vocab, inputs_width;  // inputs_width: numbers of a row of layer inputs; 0: none

  // A program whose operations have no gradient does not compile.
  template <class P> static constexpr taped_program of() {
    static_assert(checks::trains_all<lowered_header<typename P::header, signature{}>>());
    static_assert(checks::trains_all<lowered_block<typename P::footer, signature{}>>());
    []<class... Ks>(list<Ks...>) {
      static_assert((checks::trains_all<lowered_block<Ks, signature{}>>() && ...));
    }(typename P::kinds{});
    return {tapes_of<P>::all, P::kind_of, P::dim, P::vocab, P::layer_inputs_width};
  }

  u32 layers() const { return static_cast<u32>(kind_of.size()); }
  u32 last_place() const { return layers() + 1; }
  u32 tape_number(u32 place) const {
    return place == 0 ? 0 : place == last_place() ? static_cast<u32>(tapes.size()) - 1 : kind_of[place - 1] + 1u;
  }
  const tape& at(u32 place) const { return tapes[tape_number(place)]; }

  // Of an id with all matrices, on the way forth.
  u64 products() const {
    u64 all = 0;
    for (u32 place = 0; place <= last_place(); ++place)
      for (const tape_step& s : at(place).steps) all += products_of(s.i);
    return all;
  }

  bool has_routers() const {
    return std::ranges::any_of(tapes, [](const tape& t) {
      return std::ranges::any_of(t.steps, [](const tape_step& s) { return s.i.op == opcode::route; });
    });
  }

  // The place of the layer whose cache a layer with such a state reads: the last one before it that has one of its own.
  u32 owner_of(u32 place, const state_shape& shared) const {
    while (--place > 0)
      for (const state_shape& s : at(place).states)
        if (s.like(shared) && !s.shared) return place;
    return 0;
  }
};

}  // namespace cke::train

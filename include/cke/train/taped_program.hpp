// SPDX-License-Identifier: MIT
// taped_program.hpp: what training needs to know of a program, as data.
#pragma once

#include "tape.hpp"

namespace cke::train {

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

  // The place of the layer whose cache a layer with such a state reads: the last one before it that has one of its own.
  u32 owner_of(u32 place, const state_shape& shared) const {
    while (--place > 0)
      for (const state_shape& s : at(place).states)
        if (s.like(shared) && !s.shared) return place;
    return 0;
  }
};

}  // namespace cke::train

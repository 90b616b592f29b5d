// SPDX-License-Identifier: MIT
// packed_sizes.hpp: the sizes of a program's packed weights as constants, where nothing is packed.
#pragma once

#include <bit>

#include "../graph/program.hpp"
#include "../kernels/formats/packed_bf16.hpp"
#include "packed_layout.hpp"

namespace cke::runtime {

template <class P, class Isa> struct packed_sizes {
  // Bytes of a packed weight: an upper bound, as in some formats they depend on the numbers.
  static constexpr u64 room_for(const weight& w) {
    u64 bytes = packed_layout::vector_bytes(w);
    if (w.slot.quantisable)
      with_format(w.as, [&]<dtype T>() { bytes = kernels::packed<T, Isa>::bytes(units_of_slot(w.slot), w.slot.cols); });
    return bytes;
  }
  // Whether they are known for all of this program.
  static constexpr bool sized() {
    bool all = true;
    P::for_each_weight([&](const weight& w) {
      if (w.slot.quantisable) with_format(w.as, [&]<dtype T>() { all &= kernels::packed<T, Isa>::sized; });
    });
    return all;
  }

  // f<T>() for a format known at load. Only formats that the program stores are instantiated.
  template <u64 Types = P::stored_types, class F> static constexpr void with_format(dtype t, const F& f) {
    if constexpr (Types != 0) {
      constexpr auto T = static_cast<dtype>(std::countr_zero(Types));
      if (t == T) f.template operator()<T>();
      else with_format<Types&(Types - 1)>(t, f);
    }
  }
};

}  // namespace cke::runtime

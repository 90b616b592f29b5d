// SPDX-License-Identifier: MIT
// packed_formats.hpp: the packed_layout of a program whose type is in sight.
#pragma once

#include <array>
#include <bit>

#include "../graph/program.hpp"
#include "../kernels/formats/file_rows.hpp"
#include "packed_layout.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

template <dtype T, class Isa> inline constexpr packed_format packed_format_of{
    T, kernels::packed<T, Isa>::sized, &kernels::packed<T, Isa>::bytes, &kernels::packed<T, Isa>::is_whole,
    &kernels::pack_matrix<T, Isa>};

// Only formats that the program stores are compiled.
template <class P, class Isa> inline constexpr auto packed_formats = [] {
  std::array<packed_format, std::popcount(P::stored_types)> all{};
  [&]<std::size_t... T>(std::index_sequence<T...>) {
    u32 n = 0;
    const auto add = [&]<dtype Type>() {
      if constexpr (P::stored_types >> static_cast<u8>(Type) & 1) all[n++] = packed_format_of<Type, Isa>;
    };
    (add.template operator()<static_cast<dtype>(T)>(), ...);
  }(std::make_index_sequence<std::bit_width(P::stored_types)>{});
  return all;
}();
template <class P, class Isa> inline constexpr packed_layout packed_layout_of{&P::data, packed_formats<P, Isa>};

}  // namespace cke::runtime
CKE_COLD_END

// SPDX-License-Identifier: MIT
// block_scales.hpp: the scales of a block of 256, unpacked once for all of its steps.
#pragma once

#include <cstring>

#include "format.hpp"

namespace cke::kernels {

// The f16 scale of each row, times `unit`.
template <class Isa> struct row_scales {
  simd::vf32<Isa> of[unit_rows / Isa::lanes];

  CKE_INLINE explicit row_scales(const std::byte* in, float unit = 1.f) {
#pragma GCC unroll 8
    for (u32 g = 0; g < unit_rows / Isa::lanes; ++g)
      of[g] = simd::load_f16<Isa>(in + 2 * g * Isa::lanes) * simd::vf32<Isa>(unit);
  }
};

// A byte for each row of a unit, four rows to a word: a vector of the compiler's own, which it has for any isa. With
// AVX-512 g++ 12 picks the words of plain loops one by one.
using unit_words [[gnu::vector_size(unit_rows)]] = u32;

// N scales of each row as signed bytes.
template <u32 N> struct byte_scales {
  alignas(64) unit_words rows[N];

  template <class Isa> CKE_INLINE simd::vf32<Isa> load(u32 i, u32 group) const {
    return xsimd::to_float(simd::load_i8<Isa>(reinterpret_cast<const std::byte*>(&rows[i]) + group * Isa::lanes));
  }
};

}  // namespace cke::kernels

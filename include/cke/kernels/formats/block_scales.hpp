// SPDX-License-Identifier: MIT
// block_scales.hpp: the scales of a block of 256, unpacked once for all of its steps.
#pragma once

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

// N scales of each row as signed bytes, four rows to a word: plain loops over words become vector code in any isa.
template <u32 N> struct byte_scales {
  alignas(64) u32 rows[N][unit_rows / 4];

  template <class Isa> CKE_INLINE simd::vf32<Isa> load(u32 i, u32 group) const {
    return xsimd::to_float(simd::load_i8<Isa>(&rows[i][group * Isa::lanes / 4]));
  }
  // Four 6-bit numbers less 32.
  static u32 centred(u32 four) { return ((four | 0x80808080u) - 0x20202020u) ^ 0x80808080u; }
};

}  // namespace cke::kernels

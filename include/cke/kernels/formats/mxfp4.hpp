// SPDX-License-Identifier: MIT
// mxfp4.hpp: blocks of 32 four-bit floats (e2m1) and a power of two (e8m0).
#pragma once

#include "nibbles.hpp"
#include "q8_0.hpp"

namespace cke::kernels {

// Twice the floats, which are whole numbers; codes have 16 added.
inline constexpr std::initializer_list<int> mxfp4_values{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
inline constexpr nibble_table mxfp4_table = table_of(mxfp4_values, 16);

// Half of 2^(e - 127), also where that is subnormal.
constexpr u32 half_power_bits(u32 e) { return e < 2 ? 0x00200000u << e : (e - 1) << 23; }

// A block is two of the file's, to fill whole cache lines: exponents [2][32], nibbles [2]: 17 of them.
template <class Isa> struct layout<dtype::mxfp4, Isa> {
  static constexpr u32 block = 64, first = 2 * unit_rows, block_bytes = first + 2 * nibbles<Isa>::bytes;
  static_assert(block_bytes == unit_rows * 34);

  static constexpr u32 codes(u32 s) { return first + s * nibbles<Isa>::bytes; }
  static void pack(std::byte* out, u32 row, const std::byte* in) {
    for (u32 s = 0; s < 2; ++s) {
      write(out + s * unit_rows + row, read<u8>(in + 17 * s));
      nibbles<Isa>::take(out + codes(s), row, in + 17 * s + 1);
    }
  }
  static void unpack(const std::byte* in, u32 row, float* out) {
    for (u32 s = 0; s < 2; ++s) {
      const float d = std::bit_cast<float>(half_power_bits(read<u8>(in + s * unit_rows + row)));
      for (u32 k = 0; k < 32; ++k)
        *out++ = d * static_cast<float>(mxfp4_values.begin()[nibbles<Isa>::get(in + codes(s), row, k)]);
    }
  }
};

template <class Isa> struct format<dtype::mxfp4, Isa> : layout<dtype::mxfp4, Isa>, q8_0_step<Isa, 16> {
  using weights = typename q8_0_step<Isa, 16>::weights;

  CKE_INLINE static weights load(const std::byte* block, u32 i, u32 group) {
    using vi32 = simd::vi32<Isa>;
    weights w;
    load_nibbles<Isa>(block + layout<dtype::mxfp4, Isa>::codes(i), group, mxfp4_table, w.codes);
    const vi32 e = simd::load_i8<Isa>(block + i * unit_rows + group * Isa::lanes) & vi32(255);
    const vi32 small = (e + vi32(1)) << 21;  // e = 0 and 1
    w.scale = simd::as<simd::vf32<Isa>>(xsimd::select(e < vi32(2), small, (e - vi32(1)) << 23));
    return w;
  }
};

}  // namespace cke::kernels

// SPDX-License-Identifier: MIT
// q3_k.hpp: blocks of 256 three-bit codes with a signed 6-bit scale for every 16, and an f16 scale.
#pragma once

#include "q2_k.hpp"
#include "q6_k.hpp"

namespace cke::kernels {

// A block: f16 d [32], then [8] low bits of codes, third bits, low nibbles of the two scales [32], and their high bits;
// those of row r are in nibble r / 16 of byte r % 16: 55 cache lines.
template <class Isa> struct layout<dtype::q3_k, Isa> {
  static constexpr u32 block = 256,
                       step_bytes = bit_plane<Isa, 2>::bytes + bit_plane<Isa, 1>::bytes + unit_rows * 3 / 2,
                       block_bytes = 2 * unit_rows + 8 * step_bytes;
  static_assert(block_bytes == unit_rows * 110);

  static constexpr u32 codes(u32 s) { return 2 * unit_rows + s * step_bytes; }
  static constexpr u32 thirds(u32 s) { return codes(s) + bit_plane<Isa, 2>::bytes; }
  static constexpr u32 scales(u32 s) { return thirds(s) + bit_plane<Isa, 1>::bytes; }
  static constexpr u32 tops(u32 s) { return scales(s) + unit_rows; }
  // Scale i of a file's block has its low bits in nibble i / 8 of byte i % 8, its high ones in bits
  // i / 4 * 2 of byte 8 + i % 4.
  static void pack(std::byte* out, u32 row, const std::byte* in) {
    const auto q = [&](u32 i) { return u32{read<u8>(in + 96 + i)}; };
    for (u32 s = 0; s < 8; ++s) {
      bit_plane<Isa, 2>::pack(out + codes(s), row, [&](u32 i) { return two_bits(in + 32, s, i); });
      bit_plane<Isa, 1>::pack(out + thirds(s), row, [&](u32 i) { return read<u32>(in + 4 * i) >> s & 0x01010101u; });
      u32 low = 0, high = 0;
      for (u32 h = 0; h < 2; ++h) {
        const u32 i = 2 * s + h;
        low |= (q(i % 8) >> i / 8 * 4 & 15u) << 4 * h;
        high |= (q(8 + i % 4) >> i / 4 * 2 & 3u) << 2 * h;
      }
      write(out + scales(s) + row, static_cast<u8>(low));
      std::byte* const top = out + tops(s) + row % 16;
      write(top, static_cast<u8>(row < 16 ? high : read<u8>(top) | high << 4));
    }
    write(out + 2 * row, read<u16>(in + 108));
  }
  static void unpack(const std::byte* in, u32 row, float* out) {
    for (u32 k = 0; k < block; ++k) {
      const u32 s = k / 32, h = k % 32 / 16;
      const u32 low = u32{read<u8>(in + scales(s) + row)} >> 4 * h & 15u;
      const u32 high = u32{read<u8>(in + tops(s) + row % 16)} >> (row / 16 * 4 + 2 * h) & 3u;
      const u32 code =
          bit_plane<Isa, 2>::get(in + codes(s), row, k % 32) | bit_plane<Isa, 1>::get(in + thirds(s), row, k % 32) << 2;
      const float scale =
          from_f16(read<u16>(in + 2 * row)) * static_cast<float>(static_cast<i32>(low | high << 4) - 32);
      out[k] = scale * static_cast<float>(static_cast<i32>(code) - 4);
    }
  }
};

template <class Isa> struct format<dtype::q3_k, Isa> : layout<dtype::q3_k, Isa>, halves_step<Isa, 4> {
  using l = layout<dtype::q3_k, Isa>;
  using weights = typename halves_step<Isa, 4>::weights;
  struct view {
    const std::byte* block;
    row_scales<Isa> d;
    CKE_INLINE explicit view(const std::byte* in) : block(in), d(in) {}
  };

  CKE_INLINE static weights load(const view& v, u32 i, u32 group) {
    using vi32 = simd::vi32<Isa>;
    weights w;
    for (vi32& c : w.codes) c = vi32(0);
    load_bits<2, 0, Isa>(v.block + l::codes(i), group, w.codes);
    load_bits<1, 2, Isa>(v.block + l::thirds(i), group, w.codes);
    const u32 row = group * Isa::lanes;
    const vi32 low = simd::load_i8<Isa>(v.block + l::scales(i) + row);
    const vi32 high = simd::load_i8<Isa>(v.block + l::tops(i) + row % 16) >> static_cast<i32>(row / 16 * 4);
#pragma GCC unroll 2
    for (i32 h = 0; h < 2; ++h) {
      const vi32 scale = ((low >> 4 * h) & vi32(15)) | (((high >> 2 * h) & vi32(3)) << 4);
      w.scale[h] = v.d.of[group] * xsimd::to_float(scale - vi32(32));
    }
    return w;
  }
};

}  // namespace cke::kernels

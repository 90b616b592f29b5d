// SPDX-License-Identifier: MIT
// iq4_xs.hpp: blocks of 256 nibbles like those of iq4_nl, a signed 6-bit scale for every 32, and an f16 scale.
#pragma once

#include "block_scales.hpp"
#include "iq4_nl.hpp"

namespace cke::kernels {

// A block: f16 d [32], scales of 32 k: low nibbles, of an even 32 below those of an odd one, [4][32], two
// high bits of each, four to a byte, [2][32]; then nibbles [8]: 68 cache lines.
template <class Isa> struct layout<dtype::iq4_xs, Isa> {
  static constexpr u32 block = 256, low = 2 * unit_rows, high = low + 4 * unit_rows, first = high + 2 * unit_rows,
                       block_bytes = first + 8 * nibbles<Isa>::bytes;
  static_assert(block_bytes == unit_rows * 136);

  static constexpr u32 codes(u32 s) { return first + s * nibbles<Isa>::bytes; }
  static void pack(std::byte* out, u32 row, const std::byte* in) {
    write(out + 2 * row, read<u16>(in));
    for (u32 i = 0; i < 2; ++i) write(out + high + i * unit_rows + row, read<u8>(in + 2 + i));
    for (u32 i = 0; i < 4; ++i) write(out + low + i * unit_rows + row, read<u8>(in + 4 + i));
    for (u32 s = 0; s < 8; ++s) nibbles<Isa>::take(out + codes(s), row, in + 8 + 16 * s);
  }
  static void unpack(const std::byte* in, u32 row, float* out) {
    for (u32 s = 0; s < 8; ++s) {
      const u32 bits = (u32{read<u8>(in + low + s / 2 * unit_rows + row)} >> s % 2 * 4 & 15u) |
          (u32{read<u8>(in + high + s / 4 * unit_rows + row)} >> s % 4 * 2 & 3u) << 4;
      const float scale = from_f16(read<u16>(in + 2 * row)) * static_cast<float>(static_cast<i32>(bits) - 32);
      for (u32 k = 0; k < 32; ++k)
        *out++ = scale * static_cast<float>(iq4_values.begin()[nibbles<Isa>::get(in + codes(s), row, k)]);
    }
  }
};

template <class Isa> struct format<dtype::iq4_xs, Isa> : layout<dtype::iq4_xs, Isa>, q8_0_step<Isa> {
  using l = layout<dtype::iq4_xs, Isa>;
  using weights = typename q8_0_step<Isa>::weights;
  struct view {
    const std::byte* block;
    row_scales<Isa> d;
    byte_scales<8> scale;

    CKE_INLINE explicit view(const std::byte* in) : block(in), d(in) {
#pragma GCC unroll 8
      for (u32 s = 0; s < 8; ++s) {
        unit_words low, high;
        std::memcpy(&low, in + l::low + s / 2 * unit_rows, sizeof low);
        std::memcpy(&high, in + l::high + s / 4 * unit_rows, sizeof high);
        const unit_words code = (low >> s % 2 * 4 & 0x0f0f0f0fu) | (high >> s % 4 * 2 & 0x03030303u) << 4;
        scale.rows[s] = ((code | 0x80808080u) - 0x20202020u) ^ 0x80808080u;  // less 32, each byte by itself
      }
    }
  };

  CKE_INLINE static weights load(const view& v, u32 i, u32 group) {
    weights w;
    load_nibbles<Isa>(v.block + l::codes(i), group, iq4_table<Isa>, w.codes);
    w.scale = v.d.of[group] * v.scale.template load<Isa>(i, group);
    return w;
  }
};

}  // namespace cke::kernels

// SPDX-License-Identifier: MIT
// row_wise.hpp: i8 and i4: symmetric codes with one scale for a row, for weights that are quantised at load.
#pragma once

#include "q4_0.hpp"

namespace cke::kernels {

// Every block of a row carries the row's scale, so blocks and units are those of q8_0 or q4_0.
template <class Isa> struct layout<dtype::i8_row, Isa> : layout<dtype::q8_0, Isa> {};
template <class Isa> struct layout<dtype::i4_row, Isa> : layout<dtype::q4_0, Isa> {};
template <class Isa> struct format<dtype::i8_row, Isa> : format<dtype::q8_0, Isa> {};
template <class Isa> struct format<dtype::i4_row, Isa> : format<dtype::q4_0, Isa> {};

constexpr bool is_row_wise(dtype t) { return t == dtype::i8_row || t == dtype::i4_row; }

// The greatest magnitude of a row, seen part by part. Magnitudes are compared as bits: a NaN is the greatest.
class row_scale {
 public:
  void see(const float* x, u32 count) {
    for (u32 i = 0; i < count; ++i) top_ = std::max(top_, std::bit_cast<u32>(x[i]) & 0x7fffffffu);
  }
  // The f16 scale that makes it code 127, or 7; codes are rounded for the f16 value.
  u16 of(dtype t) const { return to_f16(std::bit_cast<float>(top_) / (t == dtype::i8_row ? 127.f : 7.f)); }

 private:
  u32 top_ = 0;
};

// Encodes `count` numbers of a row, whole blocks: to nearest, halves away from 0. A NaN scale makes the whole row NaN.
inline void quantise_row_wise(dtype to, const float* in, u32 count, u16 scale, std::byte* out) {
  const float d = from_f16(scale), inverse = 1.f / d, most = to == dtype::i8_row ? 127.f : 7.f;
  const bool usable = std::isfinite(d) && d > 0;
  const auto code = [&](u32 i) {
    return usable ? static_cast<i32>(std::round(std::clamp(in[i] * inverse, -most, most))) : 0;
  };
  for (; count >= 32; count -= 32, in += 32, out += info(to).bytes) {
    write(out, scale);
    for (u32 i = 0; i < 32 && to == dtype::i8_row; ++i) write(out + 2 + i, static_cast<i8>(code(i)));
    for (u32 i = 0; i < 16 && to == dtype::i4_row; ++i)
      write(out + 2 + i, static_cast<u8>((code(i) + 8) | (code(i + 16) + 8) << 4));
  }
}

}  // namespace cke::kernels

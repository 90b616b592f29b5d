// SPDX-License-Identifier: MIT
// convert.hpp: numbers in the encodings of files, to f32 and from f32, as ggml rounds them.
#pragma once

#include <algorithm>
#include <cmath>

#include "../../core/error.hpp"
#include "row_wise.hpp"

CKE_COMPILED_ONCE
namespace cke::kernels {

// The encodings that weights can be read from; count is a multiple of the type's block in both directions.
constexpr bool convertible(dtype t) {
  return t == dtype::f32 || t == dtype::f16 || t == dtype::bf16 || t == dtype::q8_0;
}

// The types that weights may be rounded to at load.
constexpr bool rounds_to(dtype t) { return convertible(t) || is_row_wise(t); }

[[noreturn]] inline void cannot_convert(dtype t) {
  throw Error{errc::unsupported, {}, "convert", "f32, f16, bf16 or q8_0", std::string(info(t).name)};
}

// `count` elements of type `from` as floats, exactly.
inline void to_f32(dtype from, const std::byte* in, u32 count, float* out) {
  switch (from) {
    case dtype::f32: std::memcpy(out, in, u64{count} * 4); return;
    case dtype::f16:
      for (u32 i = 0; i < count; ++i) out[i] = from_f16(read<u16>(in + 2 * u64{i}));
      return;
    case dtype::bf16:
      for (u32 i = 0; i < count; ++i) out[i] = from_bf16(read<u16>(in + 2 * u64{i}));
      return;
    case dtype::q8_0:
      for (; count >= 32; count -= 32, in += 34, out += 32) {
        const float d = from_f16(read<u16>(in));
        for (u32 i = 0; i < 32; ++i) out[i] = d * static_cast<float>(read<i8>(in + 2 + i));
      }
      return;
    default: cannot_convert(from);
  }
}

// One q8_0 block, bit for bit as gguf-py and llama.cpp's reference make it: d = amax / 127, halves away from 0.
// Magnitudes are compared as bits: a NaN becomes the scale instead of vanishing.
inline void quantise_q8_0(const float* in, std::byte* out) {
  u32 top = 0;
  for (u32 i = 0; i < 32; ++i) top = std::max(top, std::bit_cast<u32>(in[i]) & 0x7fffffffu);
  const float d = std::bit_cast<float>(top) / 127.f, inverse = 1.f / d;
  write(out, to_f16(d));
  i8 codes[32] = {};
  if (std::isfinite(d) && std::isfinite(inverse))
    for (u32 i = 0; i < 32; ++i) {  // the float below a half: 0.49999997 must not round up
      const float v = in[i] * inverse;
      codes[i] = static_cast<i8>(static_cast<i32>(v + std::copysign(0x1.fffffep-2f, v)));
    }
  std::memcpy(out + 2, codes, 32);
}

// `count` floats as elements of type `to`, rounded to nearest even (q8_0: as ggml).
inline void from_f32(dtype to, const float* in, u32 count, std::byte* out) {
  switch (to) {
    case dtype::f32: std::memcpy(out, in, u64{count} * 4); return;
    case dtype::f16:
      for (u32 i = 0; i < count; ++i) write(out + 2 * u64{i}, to_f16(in[i]));
      return;
    case dtype::bf16:
      for (u32 i = 0; i < count; ++i) write(out + 2 * u64{i}, to_bf16(in[i]));
      return;
    case dtype::q8_0:
      for (; count >= 32; count -= 32, in += 32, out += 34) quantise_q8_0(in, out);
      return;
    default: cannot_convert(to);
  }
}

}  // namespace cke::kernels

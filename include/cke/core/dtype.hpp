// SPDX-License-Identifier: MIT
// dtype.hpp: number formats: block size, bytes, and the activation format that a dot product needs.
#pragma once

#include <bit>

#include "params.hpp"

CKE_COMPILED_ONCE
namespace cke {

// The values are those of GGUF's tensor types. Those from i8_row on are ours: i8_row and i4_row have one scale per row
// and are in no file; f8_e4m3 occurs in Hugging Face checkpoints.
enum class dtype : u8 {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  q8_k = 15,
  iq4_nl = 20,
  iq4_xs = 23,
  bf16 = 30,
  mxfp4 = 39,
  i8_row = 62,
  i4_row = 63,
  f8_e4m3 = 64,
  none = 255,
};

struct dtype_info {
  dtype type;
  std::string_view name;
  u32 block, bytes;  // elements and bytes of one block
  dtype partner;     // activations are converted to this before a dot product; f32: no conversion
};

inline constexpr dtype_info dtypes[] = {
    {dtype::f32, "f32", 1, 4, dtype::f32},          {dtype::f16, "f16", 1, 2, dtype::f32},
    {dtype::bf16, "bf16", 1, 2, dtype::bf16},       {dtype::q8_0, "q8_0", 32, 34, dtype::q8_0},
    {dtype::q4_0, "q4_0", 32, 18, dtype::q8_0},     {dtype::q4_1, "q4_1", 32, 20, dtype::q8_0},
    {dtype::q5_0, "q5_0", 32, 22, dtype::q8_0},     {dtype::q5_1, "q5_1", 32, 24, dtype::q8_0},
    {dtype::q2_k, "q2_k", 256, 84, dtype::q8_0},    {dtype::q3_k, "q3_k", 256, 110, dtype::q8_0},
    {dtype::q4_k, "q4_k", 256, 144, dtype::q8_0},   {dtype::q5_k, "q5_k", 256, 176, dtype::q8_0},
    {dtype::q6_k, "q6_k", 256, 210, dtype::q8_0},   {dtype::q8_k, "q8_k", 256, 292, dtype::none},
    {dtype::iq4_nl, "iq4_nl", 32, 18, dtype::q8_0}, {dtype::iq4_xs, "iq4_xs", 256, 136, dtype::q8_0},
    {dtype::mxfp4, "mxfp4", 32, 17, dtype::q8_0},   {dtype::i8_row, "i8", 32, 34, dtype::q8_0},
    {dtype::i4_row, "i4", 32, 18, dtype::q8_0},     {dtype::f8_e4m3, "f8_e4m3", 1, 1, dtype::none},
};

// The formats in which a matrix can be kept in memory.
inline constexpr dtype weight_types[] = {dtype::f32,   dtype::f16,    dtype::bf16,  dtype::q8_0,   dtype::q4_0,
                                         dtype::q4_1,  dtype::q5_0,   dtype::q5_1,  dtype::q2_k,   dtype::q3_k,
                                         dtype::q4_k,  dtype::q5_k,   dtype::q6_k,  dtype::iq4_nl, dtype::iq4_xs,
                                         dtype::mxfp4, dtype::i8_row, dtype::i4_row};

constexpr bool known(dtype t) {
  for (const auto& row : dtypes)
    if (row.type == t) return true;
  return false;
}
// Whether a GGUF file may contain this type.
constexpr bool stored_in_files(u32 number) {
  return number < static_cast<u32>(dtype::i8_row) && known(static_cast<dtype>(number));
}
constexpr const dtype_info& info(dtype t) {
  for (const auto& row : dtypes)
    if (row.type == t) return row;
  constant_error("cke: dtype: a type without a row in the table");
}
// The formats that a kernel is compiled for: those of its matrices (more than one if q, k and v, or gate and up,
// differ), of the KV cache for attention, f32 for everything else; and the kernel's activation function, if any.
struct kernel_types {
  dtype first{}, second = dtype::none, third = dtype::none;
  activation act{};
  constexpr kernel_types(dtype one = dtype::f32, dtype two = dtype::none, dtype three = dtype::none)
      : first(one), second(two), third(three) {}
  constexpr kernel_types with(activation a) const {
    kernel_types t = *this;
    t.act = a;
    return t;
  }
  constexpr bool operator==(const kernel_types&) const = default;
};

// Size in bytes of `elements` consecutive numbers, which must be a multiple of the block size.
constexpr u64 bytes_of(dtype t, u64 elements) { return elements / info(t).block * info(t).bytes; }

// ---- scalar conversions; those to f32 are exact. simd.hpp has the vector forms ------------------

constexpr float from_bf16(u16 x) { return std::bit_cast<float>(u32{x} << 16); }

// Four bits of exponent and three of mantissa. The format has no infinity, and one NaN of each sign.
constexpr float from_f8_e4m3(u8 x) {
  const u32 sign = u32{x} >> 7 << 31, exponent = x >> 3 & 15u, mantissa = x & 7u;
  if (exponent == 15 && mantissa == 7) return std::bit_cast<float>(sign | 0x7fc00000u);
  const float size =
      exponent ? std::bit_cast<float>((exponent + 120) << 23 | mantissa << 20) : static_cast<float>(mantissa) * 0x1p-9f;
  return sign ? -size : size;
}

// Rounds to nearest even; NaN stays NaN.
constexpr u16 to_bf16(float x) {
  const u32 b = std::bit_cast<u32>(x);
  if ((b & 0x7fffffff) > 0x7f800000) return static_cast<u16>((b >> 16) | 64);
  return static_cast<u16>((b + 0x7fff + ((b >> 16) & 1)) >> 16);
}

constexpr float from_f16(u16 h) {
  const u32 sign = u32{h & 0x8000u} << 16, exp = (h >> 10) & 31u, man = h & 1023u;
  if (exp == 31) return std::bit_cast<float>(sign | 0x7f800000u | man << 13);
  if (exp) return std::bit_cast<float>(sign | (exp + 112) << 23 | man << 13);
  const float tiny = static_cast<float>(man) * 0x1p-24f;  // subnormal: exact
  return sign ? -tiny : tiny;
}

constexpr u16 to_f16(float x) {
  const u32 b = std::bit_cast<u32>(x), sign = (b >> 16) & 0x8000u, mag = b & 0x7fffffffu;
  if (mag > 0x7f800000u) return static_cast<u16>(sign | 0x7e00u | ((mag >> 13) & 0x3ffu));
  if (mag >= 0x477ff000u) return static_cast<u16>(sign | 0x7c00u);  // rounds to infinity
  if (mag < 0x38800000u) {                                          // subnormal or zero
    const u32 shift = 126 - (mag >> 23), man = (mag & 0x7fffffu) | 0x800000u;
    if (shift > 24) return static_cast<u16>(sign);
    const u32 half = 1u << (shift - 1), kept = man >> shift, rest = man & ((1u << shift) - 1);
    return static_cast<u16>(sign | (kept + (rest > half || (rest == half && (kept & 1)))));
  }
  const u32 r = mag + 0xfff + ((mag >> 13) & 1);
  return static_cast<u16>(sign | (r - 0x38000000u) >> 13);
}

}  // namespace cke

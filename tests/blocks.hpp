// SPDX-License-Identifier: MIT
// blocks.hpp: the scales of a block as a file has it, for tests that fill blocks with random codes.
#pragma once

#include <cke/kernels/formats/format.hpp>
#include <cmath>

namespace blocks {

// Where a block has a scale for its minima too, it follows its scale.
constexpr bool has_least(cke::dtype t) {
  using enum cke::dtype;
  return t == q4_k || t == q5_k || t == q4_1 || t == q5_1 || t == q2_k;
}
// Gives a block its scale, and the scale of its minima; mxfp4 has a power of two, the next one below.
inline void set_scales(cke::dtype t, std::byte* block, float d, float least) {
  using enum cke::dtype;
  if (t == mxfp4) return cke::kernels::write(block, static_cast<cke::u8>(d == 0 ? 0 : 128 + std::ilogb(d)));
  const cke::u32 at = t == q6_k ? 208 : t == q3_k ? 108 : t == q2_k ? 80 : 0;
  cke::kernels::write(block + at, cke::to_f16(d));
  if (has_least(t)) cke::kernels::write(block + at + 2, cke::to_f16(least));
}

}  // namespace blocks

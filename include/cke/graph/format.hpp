// SPDX-License-Identifier: MIT
// format.hpp: which number format each weight has: policies that answer for a slot.
#pragma once

#include "../core/dtype.hpp"
#include "../core/role.hpp"

namespace cke {

// Answers `of(slot, layer, layers, tied)`. Vectors and rows that are no whole blocks stay f32.
template <dtype T> struct one_format {
  static constexpr dtype of(const weight_slot& w, u32, u32, bool) {
    return w.quantisable && w.cols % info(T).block == 0 ? T : dtype::f32;
  }
  static constexpr std::string_view name = info(T).name;
};

struct F32 : one_format<dtype::f32> {};
struct F16 : one_format<dtype::f16> {};
struct BF16 : one_format<dtype::bf16> {};
struct Q8_0 : one_format<dtype::q8_0> {};

}  // namespace cke

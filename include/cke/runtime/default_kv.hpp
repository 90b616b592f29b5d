// SPDX-License-Identifier: MIT
// default_kv.hpp: the type of keys and values where none is given.
#pragma once

#include "../graph/format_policy.hpp"

namespace cke::runtime {

// The default type of keys and values. bf16 is fastest, but with weights of 16 bits its rounding would be the largest
// error (docs/benchmarks.md).
template <class Formats> inline constexpr dtype default_kv = [] {
  const auto all = [](auto t) { return std::is_base_of_v<one_format<decltype(t)::value>, Formats>; };
  if (all(std::integral_constant<dtype, dtype::f32>{})) return dtype::f32;
  const bool half =
      all(std::integral_constant<dtype, dtype::bf16>{}) || all(std::integral_constant<dtype, dtype::f16>{});
  return half ? dtype::f16 : dtype::bf16;
}();

}  // namespace cke::runtime

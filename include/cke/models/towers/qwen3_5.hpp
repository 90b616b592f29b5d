// SPDX-License-Identifier: MIT
// qwen3_5.hpp: Qwen3.5's tower: Qwen3-VL's, of whose layers the decoder takes no features.
#pragma once

#include "qwen3_vl.hpp"

namespace cke {

template <qwen3_vl_vision_config C> struct qwen3_5_vision : qwen3_vl_tower<C>::type {
  using family = cke::family<"qwen3_5_vision">;
  static constexpr qwen3_vl_vision_config config = C;
};

}  // namespace cke

#include "files/qwen3_5.hpp"

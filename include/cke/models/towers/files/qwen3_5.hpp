// SPDX-License-Identifier: MIT
// qwen3_5.hpp: how files spell Qwen3.5's tower.
#pragma once

#include "../qwen3_5.hpp"

namespace cke {

template <> struct family<"qwen3_5_vision"> : family<"qwen3_vl_vision"> {
  template <config C> using type = qwen3_5_vision<C>;
  using presets = list<>;
  static constexpr std::string_view name = "qwen3_5_vision", type_name = "cke::qwen3_5_vision";
  static constexpr config defaults{.deepstack = {}};
};

}  // namespace cke

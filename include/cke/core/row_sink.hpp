// SPDX-License-Identifier: MIT
// row_sink.hpp: a callback that receives a row of numbers for each id of a pass.
#pragma once

#include "types.hpp"

namespace cke {

// take(user, i, row) is called for the i-th id, in order, on the thread that feeds. It must not throw.
struct row_sink {
  void (*take)(void* user, u32 index, const float* row) = nullptr;  // null: no callback
  void* user = nullptr;

  explicit operator bool() const { return take != nullptr; }
};

}  // namespace cke

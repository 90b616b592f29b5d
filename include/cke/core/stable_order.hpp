// SPDX-License-Identifier: MIT
// stable_order.hpp: the order that sorts entries and keeps equal ones in place.
#pragma once

#include <algorithm>
#include <vector>

#include "function_ref.hpp"
#include "types.hpp"

namespace cke {

// The indices below `count`, by a bottom-up merge sort. Unlike std::sort it stays inside the array if `less` is
// inconsistent, as a comparison of untrusted values may be. `less` may throw.
inline std::vector<u32> stable_order(u32 count, function_ref<bool(u32, u32)> less) {
  std::vector<u32> order(count), merged(count);
  for (u32 i = 0; i < count; ++i) order[i] = i;
  for (u64 width = 1; width < count; width *= 2) {
    const auto place = [&](u64 at) { return order.begin() + static_cast<i64>(std::min<u64>(at, count)); };
    auto out = merged.begin();
    for (u64 at = 0; at < count; at += 2 * width)
      out = std::merge(place(at), place(at + width), place(at + width), place(at + 2 * width), out, less);
    order.swap(merged);
  }
  return order;
}

}  // namespace cke

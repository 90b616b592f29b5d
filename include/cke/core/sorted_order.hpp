// SPDX-License-Identifier: MIT
// sorted_order.hpp: the order that sorts the entries of an array.
#pragma once

#include <algorithm>

#include "function_ref.hpp"
#include "plain_list.hpp"
#include "types.hpp"

CKE_COLD_BEGIN
namespace cke {

// The indices below `count`, sorted by `less`. The model loader sorts all its arrays with this one function, because
// every std::sort of another type compiles to as much code as a whole reader.
CKE_OUT_OF_LINE inline plain_list<u32> sorted_order(std::size_t count, function_ref<bool(u32, u32)> less) {
  plain_list<u32> order(count);
  for (u32 i = 0; i < count; ++i) order[i] = i;
  std::sort(order.begin(), order.end(), less);
  return order;
}

}  // namespace cke
CKE_COLD_END

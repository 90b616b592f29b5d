// SPDX-License-Identifier: MIT
// sorted_order.hpp: the order in which the entries of any array are sorted.
#pragma once

#include <algorithm>

#include "function_ref.hpp"
#include "plain_list.hpp"
#include "types.hpp"

CKE_COLD_BEGIN
namespace cke {

// The numbers below `count` such that less(later, earlier) is never true. One sort serves every
// array that is read when a model is loaded; each sort of its own is as much code as its reader.
CKE_OUT_OF_LINE inline plain_list<u32> sorted_order(std::size_t count,
                                                    function_ref<bool(u32, u32)> less) {
  plain_list<u32> order(count);
  for (u32 i = 0; i < count; ++i) order[i] = i;
  std::sort(order.begin(), order.end(), less);
  return order;
}

}  // namespace cke
CKE_COLD_END

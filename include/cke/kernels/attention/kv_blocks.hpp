// SPDX-License-Identifier: MIT
// kv_blocks.hpp: where the keys and values of one kv head are.
#pragma once

#include "../../core/types.hpp"

namespace cke::kernels {

// The blocks of one kv head: each in a page of its own (runtime/state.hpp), at the same offset.
struct kv_blocks {
  std::byte* const* pages{};
  u64 offset{};
  std::byte* operator[](u32 block) const { return pages[block] + offset; }
};

}  // namespace cke::kernels

// SPDX-License-Identifier: MIT
// rope_cache.hpp: the cos and sin tables of a program, for every position of a context.
#pragma once

#include <vector>

#include "../kernels/kernel.hpp"
#include "../kernels/rope_frequencies.hpp"
#include "arena.hpp"

CKE_COLD_BEGIN
namespace cke {

// One table for each distinct rope and head_dim. Filled at load; looked up by value.
class rope_cache {
 public:
  // Throws out_of_memory.
  void add(const rotary& r, u32 head_dim, u32 context) {
    if (find(r, head_dim).cos) return;
    const rope_frequencies f = rope_frequencies::of(r, head_dim, context);
    const u64 half = f.inverse.size();
    arena memory(2 * align_up(half * context * sizeof(float)));
    float* const cos = memory.take<float>(half * context);
    float* const sin = memory.take<float>(half * context);
    for (u64 p = 0; p < context; ++p) f.row(p, cos + p * half, sin + p * half);
    tables_.push_back({r, head_dim, {cos, sin}, std::move(memory)});
  }
  // Null pointers when there is none.
  rope_view find(const rotary& r, u32 head_dim) const {
    for (const table& t : tables_)
      if (t.rope == r && t.head_dim == head_dim) return t.rows;
    return {};
  }

 private:
  struct table {
    rotary rope;
    u32 head_dim;
    rope_view rows;  // [context][dims / 2] each
    arena memory;
  };
  std::vector<table> tables_;
};

}  // namespace cke
CKE_COLD_END

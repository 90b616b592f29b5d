// SPDX-License-Identifier: MIT
// rope_cache.hpp: the cos and sin tables of a program, for every position of a context.
#pragma once

#include <vector>

#include "../kernels/kernel.hpp"
#include "../kernels/rope.hpp"

namespace cke {

// One table for each distinct rope. Filled at load; looked up by value.
class rope_cache {
 public:
  struct table {
    rotary rope;
    std::vector<float> cos, sin;  // [context][dims / 2]
  };
  void add(const rotary& r, u32 head_dim, u32 context) {
    for (const table& t : tables_)
      if (t.rope == r) return;
    const rope_frequencies f = rope_frequencies::of(r, head_dim, context);
    const u64 half = f.inverse.size();
    table t{r, std::vector<float>(half * context), std::vector<float>(half * context)};
    for (u64 p = 0; p < context; ++p) f.row(p, t.cos.data() + p * half, t.sin.data() + p * half);
    tables_.push_back(std::move(t));
  }
  rope_view find(const rotary& r) const {
    for (const table& t : tables_)
      if (t.rope == r) return {t.cos.data(), t.sin.data()};
    return {};
  }

 private:
  std::vector<table> tables_;
};

}  // namespace cke

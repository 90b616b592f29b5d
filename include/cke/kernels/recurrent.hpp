// SPDX-License-Identifier: MIT
// recurrent.hpp: recurrent states, and where they are kept: a page holds the state after its last position.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "../core/simd.hpp"
#include "kernel.hpp"

namespace cke::kernels {

// Calls f(row, end, state) for the rows [row, end) of a segment, page by page. `state`, floats [at, at + count) of the
// layer's state, is the state before `row` (zeros at position 0); f makes it the state before `end`.
template <class F> void advance_state(const work& w, const segment& s, u64 at, u64 count, F f) {
  const u32 of_page = w.kv.blocks * key_block;  // positions
  const auto state_in = [&](u32 page) {
    return reinterpret_cast<float*>(s.pages[w.kv.transient][(page + 1) * w.kv.blocks - 1] + w.kv.offset) + at;
  };
  for (u32 row = 0, end; row < s.tokens; row = end) {
    const u32 position = s.position + row, page = position / of_page, left = of_page - position % of_page;
    end = s.tokens - row < left ? s.tokens : row + left;
    float* const state = state_in(page);
    if (position == 0) std::memset(state, 0, count * sizeof(float));
    else if (position % of_page == 0) std::memcpy(state, state_in(page - 1), count * sizeof(float));
    f(s.first + row, s.first + end, state);
  }
}

// Calls f(row, count, state) for the rows of all segments, at most `tokens_together` at a time, of a head whose state
// is [rows][cols], in blocks of unit_rows columns: a block stays in the cache for these tokens.
inline constexpr u32 tokens_together = 32;
template <class F> void for_some_tokens(u32 rows, u32 cols, const work& w, u32 head, F f) {
  const u64 floats = u64{rows} * align_up(cols, unit_rows);
  for (const segment& s : w.segments)
    advance_state(w, s, head * floats, floats, [&](u32 row, u32 end, float* state) {
      for (; row < end; row += tokens_together)
        f(row, end - row < tokens_together ? end - row : tokens_together, state);
    });
}
inline const float* vector_of(const work& w, u32 i) { return reinterpret_cast<const float*>(w.weight[i]); }
// Copies n of unit_rows columns; the others become 0.
inline void copy_columns(const float* from, u32 n, float* to) {
  std::fill(std::copy_n(from, n, to), to + unit_rows, 0.f);
}
inline float softplus(float x) { return x > 20 ? x : std::log1p(std::exp(x)); }

// Some columns at once; their number does not change a column's result.
template <class Isa> struct some_columns {
  using type = simd::vf32<Isa>;
  static constexpr u32 count = Isa::lanes;
  CKE_INLINE static type load(const float* p) { return type::load_unaligned(p); }
  CKE_INLINE static void store(type x, float* p) { x.store_unaligned(p); }
};
template <> struct some_columns<isa::scalar> {
  using type = float;
  static constexpr u32 count = 1;
  static float load(const float* p) { return *p; }
  static void store(float x, float* p) { *p = x; }
};

}  // namespace cke::kernels

// SPDX-License-Identifier: MIT
// attention_units.hpp: how the attention of a kv head is cut into units that threads share.
#pragma once

#include <numeric>
#include <span>

#include "../kernel.hpp"

namespace cke::kernels {

// The runs of keys that the rows of a segment see.
struct runs {
  u32 first{}, count{};
};
constexpr runs runs_of(const attention_params& p, const segment& s) {
  const u32 seen = p.bidirectional ? s.position : s.position + 1 > p.window ? s.position + 1 - p.window : 0;
  const u32 first = seen / run_keys;
  return {first, ceil_div(s.position + s.tokens, run_keys) - first};
}
// Query heads of a slice, where all heads share one key and value: few, and whole blocks of the output's columns.
constexpr u32 heads_of_slice(const head_shape& p) {
  constexpr u32 least = 4, block = 32;
  return p.kv_heads > 1 ? p.group() : least * block / std::gcd(least * p.head_dim, block);
}
// Units of a kv head: the runs that a segment sees; if it sees one, slices of the query heads.
constexpr u32 units_of_head(const attention_params& p, const segment& s) {
  const u32 count = runs_of(p, s).count;
  return count > 1 ? count : ceil_div(p.shape.group(), heads_of_slice(p.shape));
}
// Units of all segments; 0 if none has more than one.
constexpr u32 units_to_share(const attention_params& p, std::span<const segment> segments) {
  u32 count = 0;
  for (const segment& s : segments) count += units_of_head(p, s);
  return count > segments.size() ? count : 0;
}
// Bytes of `work::parts`, for contexts of several runs; part_floats: of a partial result of a head.
constexpr u64 attend_parts(const attention_params& p, u32 part_floats, u32 tokens, u32 context) {
  const u32 most = p.window <= context ? ceil_div(p.window + tokens, run_keys) + 1 : ceil_div(context, run_keys);
  return most > 1 ? u64{most} * tokens * p.shape.heads * part_floats * sizeof(float) : 0;
}

}  // namespace cke::kernels

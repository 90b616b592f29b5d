// SPDX-License-Identifier: MIT
// columns.hpp: where some columns of a register lie, in whatever form the register has.
#pragma once

#include "kernel.hpp"
#include "operand.hpp"

namespace cke::kernels {

// f(bytes) for columns [first, first + count) of n rows: runs of bytes, in an order that follows from the shape. The
// columns are whole units of the register's form, or end its rows: these then have their padding too.
template <class Isa, class F> void each_part_of_columns(const view& v, u32 n, u32 first, u32 count, F f) {
  const auto tiles = [&](u32 most, u64 of_token, u32 step, u64 step_bytes) {
    const u64 begin = first / step * step_bytes,
              end = first + count == v.width ? of_token : (first + count) / step * step_bytes;
    for (u32 t = 0; t < n;) {
      const token_tile tile = tile_at(n, t, most);
      f(std::span(v.data + t * of_token + begin * tile.count, (end - begin) * tile.count));
      t += tile.count;
    }
  };
  using pairs = operand<dtype::bf16, Isa>;
  using blocks = operand<dtype::q8_0, Isa>;
  // A token's part of a tile: a pair for 2 columns in bf16, 48 bytes for 32 in q8_0.
  if (v.as == dtype::bf16) return tiles(pairs::max_tile, pairs::token_bytes(v.width), 2, pairs::pair_bytes);
  if (v.as == dtype::q8_0) return tiles(blocks::max_tile, blocks::token_bytes(v.width), 32, 48);
  for (u32 t = 0; t < n; ++t) f(std::span(reinterpret_cast<std::byte*>(v.row(t) + first), u64{count} * sizeof(float)));
}

}  // namespace cke::kernels

// SPDX-License-Identifier: MIT
// store_row.hpp: rows of a register, in whatever form it has: how one is written, and where it begins.
#pragma once

#include <cstring>

#include "kernel.hpp"
#include "operand.hpp"

namespace cke::kernels {

// Writes columns [col0, col0 + count) of one token of n. Parts of a row may come from several threads.
template <class Isa> void store_row(const view& to, u32 n, u32 token, u32 col0, u32 count, const float* x) {
  switch (to.as) {
    case dtype::bf16: return kernels::operand<dtype::bf16, Isa>::put(to.data, n, to.width, token, col0, count, x);
    case dtype::q8_0: return kernels::operand<dtype::q8_0, Isa>::put(to.data, n, to.width, token, col0, count, x);
    default: std::memcpy(to.row(token) + col0, x, u64{count} * sizeof(float));
  }
}

// Bytes from one token to the next.
template <class Isa> u64 token_bytes(const view& v) {
  switch (v.as) {
    case dtype::bf16: return kernels::operand<dtype::bf16, Isa>::token_bytes(v.width);
    case dtype::q8_0: return kernels::operand<dtype::q8_0, Isa>::token_bytes(v.width);
    default: return u64{v.stride} * sizeof(float);
  }
}
// The rows from `row` on, the first of a tile.
template <class Isa> view from_row(view v, u32 row) {
  v.data += row * token_bytes<Isa>(v);
  return v;
}

}  // namespace cke::kernels

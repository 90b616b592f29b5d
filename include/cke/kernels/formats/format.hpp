// SPDX-License-Identifier: MIT
// format.hpp: the interface of a weight format: how it is packed, and how it is multiplied.
#pragma once

#include <cstddef>
#include <cstring>

#include "../../core/dtype.hpp"
#include "../../core/params.hpp"
#include "../../core/simd.hpp"

namespace cke::kernels {

// Weights live in units of 32 output rows; rows interleave in groups of as many as a register has lanes, so a register
// holds a few k of each row of its group.

// The layout of a unit. Blocks of k follow one another; each holds all 32 rows.
//   block, block_bytes            k in a block, a multiple of the file's; bytes of 32 rows of it
//   pack(out, row, in)            one row of one block, from `block` elements as in the file
//   unpack(in, row, float* out)   and back, to `block` numbers
template <dtype F, class Isa> struct layout;
template <dtype F, class Isa> concept packable = requires { layout<F, Isa>::block_bytes; };

// A step of the dot product, in registers (not for isa::scalar).
//   step                          k that one step covers; block is a multiple
//   view                          a block as its steps read it: its address, or its scales unpacked once
//   weights                       one group of rows in registers
//   load(view, i, group)          ... of step i of a block
//   x_bytes<T>                    how far x moves in a step, of a tile of T tokens
//   dot<T>(acc, w, x, stride, t)  acc + this step of token t: one f32 chain, the same for every T
template <dtype F, class Isa> struct format;

template <class T> CKE_INLINE T read(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T> CKE_INLINE void write(std::byte* p, T v) { std::memcpy(p, &v, sizeof v); }

// Word j of every row of a group, of [32 / lanes][words][lanes] words of 4 bytes.
template <class Isa>
CKE_INLINE simd::vi32<Isa> load_words(const std::byte* in, u32 words, u32 group, u32 j) {
  return simd::vi32<Isa>::load_unaligned(reinterpret_cast<const i32*>(in + (group * words + j) * Isa::lanes * 4));
}

}  // namespace cke::kernels

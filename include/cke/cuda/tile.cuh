// SPDX-License-Identifier: MIT
// tile.cuh: the packed layout of a unit of 32 rows, and its tiles, which a warp reads at once from memory or a ring.
#pragma once

#include "kernel.cuh"

namespace cke::cuda {

// A unit is a sequence of blocks along k. A tile has a body, the codes of `tile` k (body_bytes from body_at on; a
// unit's last one may be shorter), and a head, which it shares with the other tiles of its block. layout.cuh packs
// units.
template <dtype F> struct layout_of;
template <u32 Bytes> struct whole_tiles {  // a tile is a number of whole blocks
  static constexpr u32 head_bytes = 0, body_bytes = Bytes;
  static CKE_CONSTEXPR u32 head_at(u32) { return 0; }
  static CKE_CONSTEXPR u32 body_at(u32 tile) { return tile * Bytes; }
};

// Blocks of 64 k: codes [2][half of 32][row][16 bytes], then f16 scales [2][row].
template <> struct layout_of<dtype::q8_0> : whole_tiles<2 * (unit_rows * 64 + 2 * unit_rows * 2)> {
  static constexpr u32 block = 64, scales = unit_rows * block, block_bytes = scales + 2 * unit_rows * 2,
                       tile = 2 * block;
  static CKE_CONSTEXPR u32 code(u32 row, u32 k) { return ((k / 16) * unit_rows + row) * 16 + k % 16; }
};
// Quads of 8 or 4 k, [row][16 bytes]; `Quads` of them form a block. A block of bf16 is a tile, and its rows are
// swizzled from quad to quad, so that 8 rows of a quad, or 2 rows of four quads, as an mma loads them
// (format_plain.cuh), avoid bank conflicts.
template <dtype F, u32 Quads = 1> struct plain_layout : whole_tiles<8 * unit_rows * 16> {
  static constexpr u32 bytes = info(F).bytes, of_quad = 16 / bytes, block = Quads * of_quad,
                       block_bytes = Quads * unit_rows * 16, tile = 8 * of_quad;
  static CKE_CONSTEXPR u32 quad(u32 row, u32 k) {
    return (k / of_quad * unit_rows + (row ^ k / of_quad % Quads * 2)) * 16;
  }
};
template <> struct layout_of<dtype::bf16> : plain_layout<dtype::bf16, 8> {};
template <> struct layout_of<dtype::f16> : plain_layout<dtype::f16> {};
template <> struct layout_of<dtype::f32> : plain_layout<dtype::f32> {};
// Blocks of 256 k: kernels::k_scales, then nibbles [8][row][16 bytes]. A tile is half a block.
template <> struct layout_of<dtype::q4_k> {
  static constexpr u32 block = 256, high = 8 * unit_rows, d = high + 4 * unit_rows, dmin = d + 2 * unit_rows,
                       codes = dmin + 2 * unit_rows, block_bytes = codes + 8 * unit_rows * 16, tile = block / 2;
  static constexpr u32 head_bytes = codes, body_bytes = 4 * unit_rows * 16;
  static CKE_CONSTEXPR u32 head_at(u32 t) { return t / 2 * block_bytes; }
  static CKE_CONSTEXPR u32 body_at(u32 t) { return head_at(t) + codes + t % 2 * body_bytes; }
};

template <dtype F> CKE_CONSTEXPR u64 unit_bytes(u32 cols) {
  return u64{(cols + layout_of<F>::block - 1) / layout_of<F>::block} * layout_of<F>::block_bytes;
}
template <dtype F> inline constexpr u32 tile_bytes = layout_of<F>::head_bytes + layout_of<F>::body_bytes;

// A tile in global memory.
template <dtype F> struct tile_in_memory {
  using at = layout_of<F>;
  const std::byte* unit;
  u32 tile;

  template <class T> CKE_DEVICE T head(u32 i) const { return load<T>(unit + at::head_at(tile) + i); }
  template <class T> CKE_DEVICE T body(u32 i) const { return load<T>(unit + at::body_at(tile) + i); }

 private:
  template <class T> CKE_DEVICE static T load(const std::byte* p) {
    if constexpr (sizeof(T) < 4) return dev::load(reinterpret_cast<const T*>(p));
    else return dev::stream(reinterpret_cast<const T*>(p));
  }
};

// A tile in shared memory: its head, then its body.
template <dtype F> struct tile_in_shared {
  dev::shared<std::byte> from;
  template <class T> CKE_DEVICE T head(u32 i) const { return dev::get<T>(from, i); }
  template <class T> CKE_DEVICE T body(u32 i) const { return dev::get<T>(from, layout_of<F>::head_bytes + i); }
};

// A source of tiles for a product, which releases each with done() before it takes the next. settle() is called while
// a block waits for others.
struct from_memory {
  template <dtype F> CKE_DEVICE tile_in_memory<F> take(const std::byte* unit, u32 tile) const { return {unit, tile}; }
  CKE_DEVICE void done() const {}
  CKE_DEVICE void settle() const {}
};

}  // namespace cke::cuda

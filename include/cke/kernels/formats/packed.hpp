// SPDX-License-Identifier: MIT
// packed.hpp: matrices as units of 32 interleaved rows: their sizes, packing and unpacking.
#pragma once

#include "any_file_rows.hpp"
#include "bf16.hpp"
#include "f16.hpp"
#include "iq4_xs.hpp"
#include "mxfp4.hpp"
#include "q3_k.hpp"
#include "q4_0.hpp"
#include "q5_1.hpp"
#include "q5_k.hpp"
#include "row_wise.hpp"

namespace cke::kernels {

// Rows of a file, as pack() takes them (file_rows.hpp).
template <dtype F, class Isa>
  requires packable<F, Isa>
struct file_rows;

// A matrix: units of 32 output rows and all of k, one after the other, 64-byte aligned; cols is a multiple of
// info(F).block. Missing rows and columns up to the packed block are zeros.
template <dtype F, class Isa>
  requires packable<F, Isa>
struct packed {
  using format = layout<F, Isa>;
  static_assert(format::block_bytes % 64 == 0);

  // Bytes from one unit to the next.
  static constexpr u64 unit_bytes(u32 cols) { return u64{ceil_div(cols, format::block)} * format::block_bytes; }
  // Bytes that a matrix needs.
  static constexpr u64 bytes(u32 units, u32 cols) { return units * unit_bytes(cols); }
  static constexpr bool sized = true;  // whether they follow from the shape

  // Whether these bytes are those of a matrix, so that no kernel reads beyond them.
  static bool is_whole(const std::byte*, u64 size, u32 units, u32 cols) { return size == bytes(units, cols); }

  // each_unit(f) calls f(unit, rows of the file) for every unit, on any threads, and returns when
  // all are done. Returns the bytes of the matrix.
  template <class EachUnit>
  static u64 pack(std::byte* matrix, u32 units, u32 cols, EachUnit&& each_unit) {
    each_unit([&](u32 unit, const file_rows<F, Isa>& rows) {
      std::byte* to = matrix + unit * unit_bytes(cols);
      typename file_rows<F, Isa>::scales scales;
      if constexpr (is_row_wise(F))
        if (rows.source != F) scales = rows.scales_of(cols);
      rows.each_chunk(cols, [&](u32 col, u32 count) {
        rows.pack(col, count, to + u64{col / format::block} * format::block_bytes, scales);
      });
    });
    return bytes(units, cols);
  }

  // Row `row` (0 .. 31) of a unit as `cols` floats.
  static void unpack_row(const std::byte* unit, u32 row, u32 cols, float* out) {
    float block[format::block];
    for (u32 col = 0; col < cols; col += format::block, unit += format::block_bytes) {
      format::unpack(unit, row, block);
      std::memcpy(out + col, block, std::min(format::block, cols - col) * sizeof(float));
    }
  }
};

}  // namespace cke::kernels

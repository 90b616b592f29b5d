// SPDX-License-Identifier: MIT
// packed.hpp: packs a file's rows of weights into units of 32 interleaved rows, and unpacks them.
#pragma once

#include "bf16.hpp"
#include "convert.hpp"
#include "f16.hpp"
#include "iq4_xs.hpp"
#include "mxfp4.hpp"
#include "q3_k.hpp"
#include "q4_0.hpp"
#include "q5_1.hpp"
#include "q5_k.hpp"

namespace cke::kernels {

// Turns 32 rows of a file into the blocks of a unit, some columns at a time.
template <dtype F, class Isa>
  requires packable<F, Isa>
struct file_rows {
  using format = layout<F, Isa>;
  static constexpr u32 chunk = 256;  // columns at a time: 32 rows of them stay in L1
  static constexpr u64 chunk_bytes = u64{chunk} / format::block * format::block_bytes;

  u32 present;                  // of the 32; the others are zeros
  const std::byte* const* row;  // [present], each in the encoding `source`
  dtype source;

  // The f16 scale of each row, if F has one scale for a row.
  struct scales {
    u16 row[unit_rows]{};
  };
  CKE_OUT_OF_LINE scales scales_of(u32 cols) const {
    scales all;
    float values[chunk];
    for (u32 r = 0; r < present; ++r) {
      row_scale scale;
      each_chunk(cols, [&](u32 col, u32 count) {
        to_f32(source, row[r] + bytes_of(source, col), count, values);
        scale.see(values, count);
      });
      all.row[r] = scale.of(F);
    }
    return all;
  }
  // Calls f(col, count) for every chunk of `cols` columns.
  template <class Each> static void each_chunk(u32 cols, Each&& f) {
    for (u32 col = 0; col < cols; col += chunk) f(col, std::min(chunk, cols - col));
  }
  // Packs columns [col, col + count) as whole blocks; columns of another type than F are rounded to it. Throws
  // unsupported for a source that is not convertible().
  CKE_OUT_OF_LINE void pack(u32 col, u32 count, std::byte* out, const scales& of = {}) const {
    std::byte buffer[chunk * 4];
    for (u32 r = 0; r < unit_rows; ++r) {
      const std::byte* in = encoded(r, col, count, buffer, of.row[r]);
      for (u32 b = 0; b < ceil_div(count, format::block); ++b)
        format::pack(out + b * format::block_bytes, r, in + b * bytes_of(F, format::block));
    }
  }
  // Row r of these columns in the encoding F: the file's own bytes, or a copy in `buffer`, with zeros up to the end of
  // the last block.
  const std::byte* encoded(u32 r, u32 col, u32 count, std::byte* buffer, u16 scale = 0) const {
    if (r >= present) return zeros;
    const std::byte* file = row[r] + bytes_of(source, col);
    if (source == F && count % format::block == 0) return file;
    std::memset(buffer, 0, chunk * 4);
    float values[chunk];
    if (source == F) {
      std::memcpy(buffer, file, bytes_of(F, count));
    } else {
      to_f32(source, file, count, values);
      if constexpr (is_row_wise(F)) quantise_row_wise(F, values, count, scale, buffer);
      else from_f32(F, values, count, buffer);
    }
    return buffer;
  }

 private:
  static constexpr std::byte zeros[chunk * 4]{};
};

// Increment when the bytes of a packed matrix change: bundles have them in files.
inline constexpr u32 packed_layout = 1;

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

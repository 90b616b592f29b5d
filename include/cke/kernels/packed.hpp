// SPDX-License-Identifier: MIT
// packed.hpp: weights on their way from a file's rows into units of 32 interleaved rows, and back.
#pragma once

#include "convert.hpp"
#include "format_bf16.hpp"
#include "format_f16.hpp"
#include "format_q4_0.hpp"
#include "format_q5_k.hpp"
#include "format_q6_k.hpp"

namespace cke::kernels {

// A unit: 32 output rows, all of k, contiguous, 64-byte aligned, a multiple of 64 bytes.
// cols is a multiple of info(F).block; rows that the matrix lacks and columns up to the packed
// block are zeros.
template <dtype F, class Isa>
  requires packable<F, Isa>
struct packed {
  using format = layout<F, Isa>;
  static constexpr u32 unit_rows = kernels::unit_rows;
  static_assert(format::block_bytes % 64 == 0);

  static constexpr u64 unit_bytes(u32 cols) {
    return u64{ceil_div(cols, format::block)} * format::block_bytes;
  }
  static constexpr u64 bytes(u32 rows, u32 cols) {
    return ceil_div(rows, unit_rows) * unit_bytes(cols);
  }

  // rows[0 .. rows_present): `cols` elements each in the encoding `source`; of another type than F
  // they are rounded to it first. Throws unsupported for a source that is not convertible().
  static void pack_unit(std::byte* unit, u32 rows_present, u32 cols, const std::byte* const* rows,
                        dtype source) {
    for (u32 col = 0; col < cols; col += chunk) {
      const u32 count = std::min(chunk, cols - col);
      for (u32 row = 0; row < unit_rows; ++row) {
        std::byte buffer[chunk * 4];
        const std::byte* in =
            row < rows_present ? encoded(rows[row] + bytes_of(source, col), source, count, buffer)
                               : zeros;
        pack_blocks(unit + u64{col / format::block} * format::block_bytes, row, in,
                    ceil_div(count, format::block));
      }
    }
  }

  // Row `row` (0 .. 31) of a unit as `cols` floats.
  static void unpack_row(const std::byte* unit, u32 row, u32 cols, float* out) {
    float block[format::block];
    for (u32 col = 0; col < cols; col += format::block, unit += format::block_bytes) {
      format::unpack(unit, row, block);
      std::memcpy(out + col, block, std::min(format::block, cols - col) * sizeof(float));
    }
  }

 private:
  static constexpr u32 chunk = 256;  // columns at a time: 32 rows of them stay in L1

  static constexpr std::byte zeros[chunk * 4]{};

  // `count` elements as whole blocks of F: the file's own bytes, or a copy in `buffer`.
  static const std::byte* encoded(const std::byte* file, dtype source, u32 count,
                                  std::byte* buffer) {
    if (source == F && count % format::block == 0) return file;
    std::memset(buffer, 0, chunk * 4);
    float values[chunk];
    if (source == F) {
      std::memcpy(buffer, file, bytes_of(F, count));
    } else {
      to_f32(source, file, count, values);
      from_f32(F, values, count, buffer);
    }
    return buffer;
  }
  static void pack_blocks(std::byte* out, u32 row, const std::byte* in, u32 blocks) {
    for (u32 b = 0; b < blocks; ++b, out += format::block_bytes, in += bytes_of(F, format::block))
      format::pack(out, row, in);
  }
};

}  // namespace cke::kernels

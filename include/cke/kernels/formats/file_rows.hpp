// SPDX-License-Identifier: MIT
// file_rows.hpp: 32 rows of a file, in its encoding, as the blocks of a packed unit.
#pragma once

#include "any_file_rows.hpp"
#include "convert.hpp"
#include "packed_bf16.hpp"

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

// As packed::pack.
template <dtype F, class Isa>
u64 pack_matrix(std::byte* matrix, u32 units, u32 cols, function_ref<void(unit_packer)> each_unit) {
  return packed<F, Isa>::pack(matrix, units, cols, [&](auto&& pack_unit) {
    each_unit(
        [&](u32 unit, const any_file_rows& r) { pack_unit(unit, file_rows<F, Isa>{r.present, r.row, r.source}); });
  });
}

#ifdef CKE_COMPILED  // packing is in the compiled part too
#define CKE_PACKED(F)                                      \
  extern template struct file_rows<dtype::F, isa::native>; \
  extern template u64 pack_matrix<dtype::F, isa::native>(std::byte*, u32, u32, function_ref<void(unit_packer)>);
// clang-format off
CKE_PACKED(f32) CKE_PACKED(f16) CKE_PACKED(bf16) CKE_PACKED(q8_0) CKE_PACKED(q4_0) CKE_PACKED(q4_1) CKE_PACKED(q5_0)
CKE_PACKED(q5_1) CKE_PACKED(q2_k) CKE_PACKED(q3_k) CKE_PACKED(q4_k) CKE_PACKED(q5_k) CKE_PACKED(q6_k)
CKE_PACKED(iq4_nl) CKE_PACKED(iq4_xs) CKE_PACKED(mxfp4) CKE_PACKED(i8_row) CKE_PACKED(i4_row)
// clang-format on
#undef CKE_PACKED
#endif

}  // namespace cke::kernels

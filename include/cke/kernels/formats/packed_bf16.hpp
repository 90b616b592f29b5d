// SPDX-License-Identifier: MIT
// packed_bf16.hpp: lossless bf16 weights in 12 bits each, wherever 32 rows share 16 exponents.
#pragma once

#include "packed.hpp"

namespace cke::kernels {

// The low byte of a bf16 (last bit of the exponent, mantissa) is as good as random, the high byte
// (sign, rest of the exponent) is nearly always one of a few: 16 of them hold 16 binades of both
// signs. So a unit has a table of its 16 commonest high bytes, and a block of 8 columns is either
//   small   the low bytes as they are, and for each high byte 4 bits that index the table
//   raw     as layout<bf16>, when any of its weights has another high byte
// A matrix begins with a header for each unit; the blocks of all units follow as one stream.
template <class Isa> struct bf16_unit {
  using raw_block = layout<dtype::bf16, Isa>;
  using vi32 = simd::vi32<Isa>;

  // Header: u8 table[4][16] (a copy for each 16 bytes of a register), u64 distance in bytes from
  // the header to the first block, u64 raw[]: a bit for each block.
  static constexpr u32 table_bytes = 64, raw_at = table_bytes + 8;
  static constexpr u32 blocks(u32 cols) { return ceil_div(cols, raw_block::block); }
  static constexpr u64 header_bytes(u32 cols) { return align_up(raw_at + u64{ceil_div(blocks(cols), 64)} * 8); }

  // A small block: for columns 0 to 3 and 4 to 7 codes[64], low[64] of the first pair of columns, low[64] of the
  // second; a byte of codes belongs to the first with its low half, to the second with its high one. The order within
  // 64 bytes follows from how a zip arranges registers: `lanes` rows of low and high bytes.
  static constexpr u32 small_bytes = raw_block::block * unit_rows * 3 / 2, half_bytes = small_bytes / 2;

  const std::byte* header;

  const std::byte* first_block() const { return header + read<u64>(header + table_bytes); }
  u64 raw(u32 word) const { return read<u64>(header + raw_at + u64{word} * 8); }
  bool is_raw(u32 block) const { return raw(block / 64) >> block % 64 & 1; }
  static u64 block_bytes(bool raw) { return raw ? raw_block::block_bytes : small_bytes; }

  // Two groups of rows in registers: groups g and g + 1 of columns 2i and 2i + 1.
  struct rows {
    vi32 first, second;
  };
  CKE_INLINE static rows load_raw(const std::byte* block, u32 i, u32 g) {
    const std::byte* at = block + i * 4 * unit_rows + g * register_bytes;
    return {load(at), load(at + register_bytes)};
  }
  CKE_INLINE static rows load_small(const std::byte* block, vi32 table, u32 i, u32 g) {
    const std::byte* half = block + i / 2 * half_bytes + g / 2 * register_bytes;
    const vi32 codes = load(half), low = load(half + 64 + i % 2 * 64);
    const vi32 high = simd::lookup_nibble<Isa>(table, i % 2 ? codes >> 4 : codes);
    return {simd::zip_low<Isa>(low, high), simd::zip_high<Isa>(low, high)};
  }
  CKE_INLINE vi32 table() const { return load(header); }
  // Brings the small block 16 further on, while this one is expanded.
  CKE_INLINE static void prefetch(const std::byte* block) {
#pragma GCC unroll 8
    for (u32 at = 0; at < small_bytes; at += 64)
      __builtin_prefetch(block + 16 * small_bytes + at, 0, simd::needs_prefetch<Isa> ? simd::prefetch_level<Isa> : 3);
  }

  // Makes a raw block small. Returns false, with `out` unusable, if one of its high bytes is not in the table.
  bool shrink(const std::byte* block, std::byte* out) const {
    const vi32 byte(0x00ff00ff);
    bytes missing(0);
    for (u32 g = 0; g < unit_rows / Isa::lanes; g += 2)
      for (u32 half = 0; half < 2; ++half) {
        std::byte* to = out + half * half_bytes + g / 2 * register_bytes;
        bytes codes(0);
        for (u32 i = 0; i < 2; ++i) {
          const auto [a, b] = load_raw(block, half * 2 + i, g);
          store(to + 64 + i * 64, simd::unzip<Isa>(a & byte, b & byte));
          const vi32 high = simd::unzip<Isa>((a >> 8) & byte, (b >> 8) & byte);
          const bytes found = find(simd::as<bytes>(high));
          missing |= found;
          codes |= i ? found << 4 : found;
        }
        store(to, simd::as<vi32>(codes));
      }
    return !xsimd::any(missing > bytes(15));
  }

  // Columns of row `row` of a block.
  void unpack(const std::byte* block, bool raw, u32 row, float* out) const {
    if (raw) return raw_block::unpack(block, row, out);
    constexpr u32 lanes = Isa::lanes;
    const u32 first =
        row / (2 * lanes) * register_bytes + row % lanes / 4 * 16 + row % (2 * lanes) / lanes * 8 + row % 4 * 2;
    for (u32 k = 0; k < raw_block::block; ++k) {
      const std::byte* half = block + k / 4 * half_bytes + first + k % 2;
      const u32 second = k / 2 % 2, code = read<u8>(half) >> 4 * second & 15;
      const u32 bits = u32{read<u8>(header + code)} << 8 | read<u8>(half + 64 + 64 * second);
      out[k] = from_bf16(static_cast<u16>(bits));
    }
  }

 private:
  using bytes = isa::batch<Isa, u8>;
  static constexpr u32 register_bytes = Isa::lanes * 4;

  CKE_INLINE static vi32 load(const std::byte* p) { return vi32::load_unaligned(reinterpret_cast<const i32*>(p)); }
  CKE_INLINE static void store(std::byte* p, vi32 v) { v.store_unaligned(reinterpret_cast<i32*>(p)); }

  // The index of each byte in the table; 16 and more: not in it.
  CKE_INLINE bytes find(bytes high) const {
    bytes at(16);
    for (u32 i = 16; i-- > 0;) at = xsimd::select(high == bytes(read<u8>(header + i)), bytes(static_cast<u8>(i)), at);
    return at;
  }
};

template <class Isa>
  requires(!simd::is_scalar<Isa>)
struct packed<dtype::bf16, Isa> {
  using unit = bf16_unit<Isa>;
  using format = typename unit::raw_block;
  using file = file_rows<dtype::bf16, Isa>;

  // Bytes from one unit's header to the next.
  static constexpr u64 unit_bytes(u32 cols) { return unit::header_bytes(cols); }
  // Bytes that a matrix needs if all blocks are raw. Pages beyond its real size are never touched.
  static constexpr u64 bytes(u32 units, u32 cols) {
    return units * (unit_bytes(cols) + u64{unit::blocks(cols)} * format::block_bytes);
  }
  static constexpr bool sized = false;

  // Places and sizes of blocks follow from the headers, which are checked.
  static bool is_whole(const std::byte* matrix, u64 size, u32 units, u32 cols) {
    u64 used = units * unit_bytes(cols);
    if (size < used || size > bytes(units, cols)) return false;
    for (u32 u = 0; u < units; ++u) {
      const std::byte* header = matrix + u * unit_bytes(cols);
      if (read<u64>(header + unit::table_bytes) != used - u * unit_bytes(cols)) return false;
      u32 raw = 0;
      for (u32 b = 0; b < unit::blocks(cols); ++b) raw += unit{header}.is_raw(b);
      used += raw * unit::block_bytes(true) + (unit::blocks(cols) - raw) * unit::block_bytes(false);
    }
    return used == size;
  }

  // As for other formats, but in two runs over the file, because a unit's place follows from the sizes of the units
  // before it.
  template <class EachUnit>
  static u64 pack(std::byte* matrix, u32 units, u32 cols, EachUnit&& each_unit) {
    each_unit([&](u32 u, const file& rows) { plan(matrix + u * unit_bytes(cols), cols, rows); });
    u64 used = units * unit_bytes(cols);
    for (u32 u = 0; u < units; ++u) {
      std::byte* header = matrix + u * unit_bytes(cols);
      const u64 size = read<u64>(header + unit::table_bytes);
      write(header + unit::table_bytes, used - u * unit_bytes(cols));
      used += size;
    }
    each_unit([&](u32 u, const file& rows) { fill(matrix + u * unit_bytes(cols), cols, rows); });
    return used;
  }

  static void unpack_row(const std::byte* header, u32 row, u32 cols, float* out) {
    const unit u{header};
    const std::byte* block = u.first_block();
    float values[format::block];
    for (u32 b = 0; b < unit::blocks(cols); ++b, out += format::block) {
      u.unpack(block, u.is_raw(b), row, values);
      std::memcpy(out, values, std::min(format::block, cols - b * format::block) * sizeof(float));
      block += unit::block_bytes(u.is_raw(b));
    }
  }

 private:
  // Writes the header: the table, the raw bits, and, in the place of the distance, the bytes of the blocks.
  CKE_OUT_OF_LINE static void plan(std::byte* header, u32 cols, const file& rows);

  // The 16 commonest high bytes, the lowest first among equals.
  static void write_table(std::byte* header, u32 cols, const file& rows) {
    u32 seen[4][256]{};  // four, so that neighbours do not wait for one another
    rows.each_chunk(cols, [&](u32 col, u32 count) {
      std::byte buffer[file::chunk * 4];
      for (u32 r = 0; r < unit_rows; ++r) {
        const std::byte* in = rows.encoded(r, col, count, buffer);
        for (u32 k = 0; k < align_up(count, format::block); k += 4) {
          const u64 four = read<u64>(in + 2 * k);
          for (u32 i = 0; i < 4; ++i) ++seen[i][four >> (16 * i + 8) & 255];
        }
      }
    });
    for (u32 h = 0; h < 256; ++h)
      for (u32 i = 1; i < 4; ++i) seen[0][h] += seen[i][h];
    for (u32 i = 0; i < 16; ++i) {
      u32* const most = std::max_element(seen[0], seen[0] + 256);
      std::memset(header + i, static_cast<int>(most - seen[0]), 1);
      *most = 0;
    }
    for (u32 copy = 16; copy < unit::table_bytes; copy += 16) std::memcpy(header + copy, header, 16);
    std::memset(header + unit::table_bytes, 0, unit_bytes(cols) - unit::table_bytes);
  }

  CKE_OUT_OF_LINE static void fill(std::byte* header, u32 cols, const file& rows);
};

template <class Isa>
  requires(!simd::is_scalar<Isa>)
void packed<dtype::bf16, Isa>::plan(std::byte* header, u32 cols, const file& rows) {
  write_table(header, cols, rows);
  const unit u{header};
  u64 size = 0;
  rows.each_chunk(cols, [&](u32 col, u32 count) {
    alignas(64) std::byte chunk[file::chunk_bytes], small[unit::small_bytes];
    rows.pack(col, count, chunk);
    u64 bits = 0;
    for (u32 b = 0; b < unit::blocks(count); ++b) {
      const bool raw = !u.shrink(chunk + b * format::block_bytes, small);
      bits |= u64{raw} << b;
      size += unit::block_bytes(raw);
    }
    const u32 first = col / format::block;  // a chunk's bits are in one word
    std::byte* word = header + unit::raw_at + first / 64 * 8;
    write(word, read<u64>(word) | bits << first % 64);
  });
  write(header + unit::table_bytes, size);
}

template <class Isa>
  requires(!simd::is_scalar<Isa>)
void packed<dtype::bf16, Isa>::fill(std::byte* header, u32 cols, const file& rows) {
  const unit u{header};
  std::byte* to = header + read<u64>(header + unit::table_bytes);
  rows.each_chunk(cols, [&](u32 col, u32 count) {
    alignas(64) std::byte chunk[file::chunk_bytes];
    rows.pack(col, count, chunk);
    for (u32 b = 0; b < unit::blocks(count); ++b) {
      const bool raw = u.is_raw(col / format::block + b);
      const std::byte* block = chunk + b * format::block_bytes;
      if (raw) std::memcpy(to, block, format::block_bytes);
      else u.shrink(block, to);
      to += unit::block_bytes(raw);
    }
  });
}

#ifdef CKE_COMPILED  // packing is in the compiled part too
extern template struct packed<dtype::bf16, isa::native>;
#endif

}  // namespace cke::kernels

// SPDX-License-Identifier: MIT
// wide_codes.cuh: 64 rows of codes times up to 64 tokens in a block.
#pragma once

#include "wide_copies.cuh"

namespace cke::cuda {

// Double-buffered: while the warps multiply one tile of both units, the next is copied to the other buffer. A warp
// computes 16 rows x 32 tokens and folds their integers in registers, item by item, in the order of the other shapes;
// so the bits are the same.
// Shared memory: two buffers {a tile of each unit; codes [16 of k][token]; scales [item][token]}; at the end sums
// [token][row].
template <dtype F, class Arch> struct wide_codes {
  using f = format<F>;
  using at = layout_of<F>;
  static constexpr u32 items = at::tile / 32, quads = at::tile / 16;
  static constexpr u32 column = wide_tokens * 16 + 16;  // padded by 16 bytes against bank conflicts
  static constexpr u32 codes_at = 2 * tile_bytes<F>, scales_at = codes_at + quads * column;
  static constexpr u32 half_bytes = scales_at + items * wide_tokens * u32{sizeof(block_scale)};
  static constexpr u32 shared_bytes = 2 * half_bytes;
  static_assert(wide_sums_bytes <= shared_bytes && items * wide_tokens == block_threads);

  wide_operands o;

  CKE_DEVICE dev::shared<float> run() const {
    const u32 all = (o.cols + 31) / 32, tiles = (o.cols + at::tile - 1) / at::tile;
    const dev::shared<std::byte> memory = dev::shared_memory().take<std::byte>(shared_bytes);
    const warp_part part;
    const bool mine = part.is_of(o);
    float acc[4][4]{};
    no_tokens(memory);
    send(memory, 0, 0);
    block_scale scale = scale_of(0, all);
    for (u32 t = 0; t < tiles; ++t) {
      const u32 here = t % 2 * half_bytes;
      put_scale(memory, here, scale);
      copy::arrive();
      dev::sync();  // the tile has arrived, and no warp reads the other buffer
      if (t + 1 < tiles) send(memory, half_bytes - here, t + 1), scale = scale_of(t + 1, all);
      if (!mine) continue;
      const tile_in_shared<F> tile{dev::part_of(memory, here + part.half * tile_bytes<F>, tile_bytes<F>)};
      for (u32 n = 0; n < items && t * items + n < all; ++n)
        multiply(memory, here, tile, n, t * items + n, part.row, part.first, acc);
    }
    dev::sync();
    return part.sums_of(acc, mine);
  }

 private:
  using copy = wide_copies<Arch>;
  static constexpr bool tensor_cores = std::is_base_of_v<sm80, Arch>;

  // Multiplies one item: acc[c][2 r + t] belongs to row `row` + 8 r and token from + 8 c + 2 (lane % 4) + t.
  template <class Tile>
  CKE_DEVICE void multiply(const dev::shared<std::byte>& memory, u32 here, const Tile& tile, u32 n, u32 item, u32 row,
                           u32 from, float (&acc)[4][4]) const {
    const u32 j = dev::lane() % 4;
    float factors[2][f::factors];
    f::factors_of(tile, n, item, row, factors[0]), f::factors_of(tile, n, item, row + 8, factors[1]);
    two_words words[2][tensor_cores ? 1 : 4];  // of the lane's rows: an mma's operand, or all codes
    CKE_UNROLL
    for (u32 k = 0; k < (tensor_cores ? 1 : 4); ++k)
      words[0][k] = f::word(tile, n, row, tensor_cores ? j : k),
      words[1][k] = f::word(tile, n, row + 8, tensor_cores ? j : k);
    const u32 low = here + codes_at + 2 * n * column, high = low + column;
    CKE_UNROLL
    for (u32 c = 0; c < 4; ++c) {
      const u32 begin = from + c * 8, token = begin + 2 * j;  // token: of this lane's acc
      if (begin >= o.count) continue;
      i32 sums[4]{};
      if constexpr (tensor_cores) {
        const u32 code = (begin + dev::lane() / 4) * 16 + 4 * j;
        const u32 a[4]{words[0][0].low, words[1][0].low, words[0][0].high, words[1][0].high};
        const u32 b[2]{dev::get<u32>(memory, low + code), dev::get<u32>(memory, high + code)};
        dev::mma_bytes(sums, a, b);
      } else {
        CKE_UNROLL
        for (u32 k = 0; k < 4; ++k) CKE_UNROLL
        for (u32 i = 0; i < 4; ++i) {
          const u32 code = (token + i % 2) * 16 + 4 * k;
          sums[i] = dev::dot4(sums[i], words[i / 2][k].low, dev::get<u32>(memory, low + code));
          sums[i] = dev::dot4(sums[i], words[i / 2][k].high, dev::get<u32>(memory, high + code));
        }
      }
      CKE_UNROLL
      for (u32 i = 0; i < 4; ++i)
        acc[c][i] =
            f::fold(acc[c][i], sums[i], factors[i / 2],
                    dev::get<block_scale>(
                        memory, here + scales_at + (n * wide_tokens + token + i % 2) * u32{sizeof(block_scale)}));
    }
  }

  // Copies tile t of both units and of the tokens.
  CKE_DEVICE void send(const dev::shared<std::byte>& memory, u32 to, u32 t) const {
    const u32 left = static_cast<u32>(unit_bytes<F>(o.cols)) - at::body_at(t),
              body = left < at::body_bytes ? left : at::body_bytes;
    CKE_UNROLL
    for (u32 h = 0; h < 2; ++h) {
      if (!o.unit[h]) continue;
      const u32 place = to + h * tile_bytes<F>;
      for (u32 i = dev::thread() * 16; i < at::head_bytes; i += block_threads * 16)
        copy::quad(memory, place + i, o.unit[h] + at::head_at(t) + i);
      for (u32 i = dev::thread() * 16; i < body; i += block_threads * 16)
        copy::quad(memory, place + at::head_bytes + i, o.unit[h] + at::body_at(t) + i);
    }
    for (u32 i = dev::thread(); i < o.count * quads; i += block_threads) {
      const u32 token = i / quads, k = i % quads;
      if (t * at::tile + k * 16 < padded(o.cols, 32))
        copy::quad(memory, to + codes_at + k * column + token * 16,
                   codes_of(o.x, o.first + token) + t * at::tile + k * 16);
    }
  }
  // One thread per scale of a tile.
  CKE_DEVICE block_scale scale_of(u32 t, u32 all) const {
    const u32 token = dev::thread() / items, item = t * items + dev::thread() % items;
    return token < o.count && item < all ? dev::load(scales_of(o.x, o.first + token) + item) : block_scale{};
  }
  CKE_DEVICE static void put_scale(const dev::shared<std::byte>& memory, u32 to, block_scale s) {
    const u32 token = dev::thread() / items, n = dev::thread() % items;
    dev::put(memory, to + scales_at + (n * wide_tokens + token) * u32{sizeof s}, s);
  }
  // Fills the columns of missing tokens, up to a multiple of 8, with zeros.
  CKE_DEVICE void no_tokens(const dev::shared<std::byte>& memory) const {
    const u32 behind = padded(o.count, 8) - o.count;
    for (u32 i = dev::thread(); i < 2 * quads * behind; i += block_threads)
      dev::put(memory, i % 2 * half_bytes + codes_at + i / 2 % quads * column + (o.count + i / 2 / quads) * 16,
               dev::quad{});
  }
};

}  // namespace cke::cuda

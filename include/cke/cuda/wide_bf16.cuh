// SPDX-License-Identifier: MIT
// wide_bf16.cuh: 64 rows of bf16 times up to 64 tokens in a block, with the mmas of narrow products.
#pragma once

#include "wide_copies.cuh"

namespace cke::cuda {

// Double-buffered, tile by tile of two units, as in wide_codes. An item is several tiles, whose chain is added to the
// sums before the next item. Shared memory: two buffers {a tile of each unit; numbers [token][64 k]}; at the end sums
// [token][row].
template <class Arch> struct wide_bf16 {
  using f = format<dtype::bf16>;
  using at = layout_of<dtype::bf16>;
  static constexpr u32 quads = at::tile / at::of_quad;
  static constexpr u32 numbers_at = 2 * at::body_bytes, half_bytes = numbers_at + wide_tokens * quads * 16;
  static constexpr u32 shared_bytes = 2 * half_bytes;
  static_assert(quads == 8 && at::block == at::tile && wide_sums_bytes <= shared_bytes);

  wide_operands o;

  CKE_DEVICE dev::shared<float> run() const {
    const u32 steps = (o.cols + at::tile - 1) / at::tile;
    const dev::shared<std::byte> memory = dev::shared_memory().take<std::byte>(shared_bytes);
    const warp_part part;
    const bool mine = part.is_of(o);
    float acc[4][4]{}, chain[4][4]{};
    no_tokens(memory);
    send(memory, 0, 0);
    for (u32 t = 0; t < steps; ++t) {
      const u32 here = t % 2 * half_bytes;
      copy::arrive();
      dev::sync();  // the tile has arrived, and no warp reads the other buffer
      if (t + 1 < steps) send(memory, half_bytes - here, t + 1);
      if (!mine) continue;
      multiply(memory, here, part, chain);
      if ((t + 1) % (f::columns / at::tile) == 0 || t + 1 == steps) fold(acc, chain);
    }
    dev::sync();
    return part.sums_of(acc, mine);
  }

 private:
  using copy = wide_copies<Arch>;

  // Swizzle: two tokens' quads of 32 k lie in different banks, and so do one token's quads of 64 k.
  CKE_DEVICE static u32 place(u32 token, u32 quad) {
    return numbers_at + (token * quads + (quad ^ (token % 2 * 4 + token / 2 % 4))) * 16;
  }

  CKE_DEVICE static void fold(float (&acc)[4][4], float (&chain)[4][4]) {
    CKE_UNROLL
    for (u32 c = 0; c < 4; ++c) CKE_UNROLL
    for (u32 i = 0; i < 4; ++i) acc[c][i] = acc[c][i] + chain[c][i], chain[c][i] = 0;
  }
  CKE_DEVICE void multiply(const dev::shared<std::byte>& memory, u32 here, const warp_part& part,
                           float (&chain)[4][4]) const {
    const u32 unit = here + part.half * at::body_bytes;
    CKE_UNROLL
    for (u32 begin = 0; begin < at::tile; begin += 32) {
      const u32 k = begin + dev::lane() % 4 * at::of_quad;
      const dev::quad upper = dev::get<dev::quad>(memory, unit + at::quad(part.row, k)),
                      lower = dev::get<dev::quad>(memory, unit + at::quad(part.row + 8, k));
      CKE_UNROLL
      for (u32 c = 0; c < 4; ++c)
        multiply_quads(
            chain[c], upper, lower,
            dev::get<dev::quad>(memory, here + place(part.first + c * 8 + dev::lane() / 4, k / at::of_quad)));
    }
  }
  // Copies tile t of both units and of the tokens, with zeros past the end of their rows.
  CKE_DEVICE void send(const dev::shared<std::byte>& memory, u32 to, u32 t) const {
    CKE_UNROLL
    for (u32 h = 0; h < 2; ++h)
      if (o.unit[h])
        for (u32 i = dev::thread() * 16; i < at::body_bytes; i += block_threads * 16)
          copy::quad(memory, to + h * at::body_bytes + i, o.unit[h] + at::body_at(t) + i);
    for (u32 i = dev::thread(); i < o.count * quads; i += block_threads) {
      const u32 token = i / quads, quad = i % quads, k = t * at::tile + quad * at::of_quad;
      if (k < o.cols)
        copy::quad(memory, to + place(token, quad),
                   reinterpret_cast<const std::byte*>(bf16_row_of(o.x, o.first + token) + k));
      else dev::put(memory, to + place(token, quad), dev::quad{});
    }
  }
  // Fills the rows of missing tokens with zeros in warps that have some tokens.
  CKE_DEVICE void no_tokens(const dev::shared<std::byte>& memory) const {
    const u32 behind = padded(o.count, 32) - o.count;
    for (u32 i = dev::thread(); i < 2 * quads * behind; i += block_threads)
      dev::put(memory, i % 2 * half_bytes + place(o.count + i / 2 / quads, i / 2 % quads), dev::quad{});
  }
};

}  // namespace cke::cuda

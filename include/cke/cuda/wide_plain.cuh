// SPDX-License-Identifier: MIT
// wide_plain.cuh: 64 rows of plain numbers times up to 64 tokens in a block, with fmas in the order of narrow products.
#pragma once

#include "wide_copies.cuh"

namespace cke::cuda {

// Double-buffered, step by step of k over two units, as in wide_codes. A thread computes 4 rows x 4 tokens, each in one
// chain of fmas over an item, which is added to the sum before the next item. (bf16 from sm_80 on uses wide_bf16.)
// Shared memory: two buffers {a step of each unit; numbers [16 bytes of k][token]}; at the end sums [token][row].
template <dtype F, class Arch> struct wide_plain {
  using f = format<F>;
  using at = layout_of<F>;
  static constexpr bool halves = f::partner == dtype::bf16;  // whether the tokens are bf16
  static constexpr u32 k_step = halves ? 64 : 32, of_quad = halves ? 8 : 4, quads = k_step / of_quad;
  static constexpr u32 unit_step = k_step / at::block * at::block_bytes;
  static constexpr u32 column = wide_tokens * 16 + 16;  // padded by 16 bytes against bank conflicts
  static constexpr u32 numbers_at = 2 * unit_step, half_bytes = numbers_at + quads * column;
  static constexpr u32 shared_bytes = 2 * half_bytes;
  static constexpr u32 side = 16;  // distance between the rows, and the tokens, of a thread
  static_assert(f::columns % k_step == 0 && wide_sums_bytes <= shared_bytes && side * side == block_threads &&
                2 * side == unit_rows);

  wide_operands o;

  CKE_DEVICE dev::shared<float> run() const {
    const u32 steps = (o.cols + k_step - 1) / k_step;
    const dev::shared<std::byte> memory = dev::shared_memory().take<std::byte>(shared_bytes);
    const u32 row = dev::lane() % 8 + dev::warp() % 2 * 8, token = dev::lane() / 8 + dev::warp() / 2 * 4;
    float acc[4][4]{}, chain[4][4]{};  // [row + 16 i][token + 16 j]
    no_tokens(memory);
    send(memory, 0, 0);
    for (u32 t = 0; t < steps; ++t) {
      const u32 here = t % 2 * half_bytes;
      copy::arrive();
      dev::sync();  // the step has arrived, and no thread reads the other buffer
      if (t + 1 < steps) send(memory, half_bytes - here, t + 1);
      multiply(memory, here, o.cols - t * k_step, row, token, chain);
      if ((t + 1) % (f::columns / k_step) == 0 || t + 1 == steps) fold(acc, chain);
    }
    dev::sync();
    const dev::shared<float> sums = dev::shared_memory().take<float>(wide_sums_bytes / 4);
    CKE_UNROLL
    for (u32 i = 0; i < 4; ++i) CKE_UNROLL
    for (u32 j = 0; j < 4; ++j) sums[(token + j * side) * sums_of_token + row + i * side] = acc[i][j];
    dev::sync();
    return sums;
  }

 private:
  using copy = wide_copies<Arch>;

  CKE_DEVICE static void fold(float (&acc)[4][4], float (&chain)[4][4]) {
    CKE_UNROLL
    for (u32 i = 0; i < 4; ++i) CKE_UNROLL
    for (u32 j = 0; j < 4; ++j) acc[i][j] = acc[i][j] + chain[i][j], chain[i][j] = 0;
  }
  // Multiplies one step, of which `left` k exist.
  CKE_DEVICE void multiply(const dev::shared<std::byte>& memory, u32 here, u32 left, u32 row, u32 token,
                           float (&chain)[4][4]) const {
    for (u32 b = 0; b < k_step && b < left; b += at::of_quad) {
      dev::quad w[4]{}, x[4]{};
      CKE_UNROLL
      for (u32 i = 0; i < 4; ++i)
        if (o.unit[i / 2])
          w[i] = dev::get<dev::quad>(memory, here + i / 2 * unit_step + at::quad(row + i % 2 * side, b));
      CKE_UNROLL
      for (u32 k = 0; k < at::of_quad; ++k) {
        if (b + k >= left) continue;
        CKE_UNROLL
        for (u32 j = 0; j < 4; ++j) {
          if (j * side >= o.count) continue;
          if (k % of_quad == 0)
            x[j] =
                dev::get<dev::quad>(memory, here + numbers_at + (b + k) / of_quad * column + (token + j * side) * 16);
          const float of_token = number_of<halves ? dtype::bf16 : dtype::f32>(x[j], k % of_quad);
          CKE_UNROLL
          for (u32 i = 0; i < 4; ++i) chain[i][j] = dev::fma(number_of<F>(w[i], k), of_token, chain[i][j]);
        }
      }
    }
  }
  // Copies a step of both units and of the tokens: whole quads, then the rest of a row of floats.
  CKE_DEVICE void send(const dev::shared<std::byte>& memory, u32 to, u32 t) const {
    const u32 left = static_cast<u32>(unit_bytes<F>(o.cols)) - t * unit_step,
              bytes = left < unit_step ? left : unit_step;
    CKE_UNROLL
    for (u32 h = 0; h < 2; ++h)
      if (o.unit[h])
        for (u32 i = dev::thread() * 16; i < bytes; i += block_threads * 16)
          copy::quad(memory, to + h * unit_step + i, o.unit[h] + t * unit_step + i);
    for (u32 i = dev::thread(); i < o.count * quads; i += block_threads) {
      const u32 token = i / quads, k = t * k_step + i % quads * of_quad,
                place = to + numbers_at + i % quads * column + token * 16;
      if (k >= o.cols) continue;
      if constexpr (halves) {  // rows are padded with zeros
        copy::quad(memory, place, reinterpret_cast<const std::byte*>(bf16_row_of(o.x, o.first + token) + k));
      } else {
        const float* const from = row_of(o.x, o.first + token) + k;
        if (k + of_quad <= o.cols) copy::quad(memory, place, reinterpret_cast<const std::byte*>(from));
        else
          for (u32 n = 0; n < of_quad; ++n) dev::put(memory, place + 4 * n, k + n < o.cols ? dev::load(from + n) : 0.f);
      }
    }
  }
  // Fills the columns of missing tokens, up to a multiple of 16, with zeros.
  CKE_DEVICE void no_tokens(const dev::shared<std::byte>& memory) const {
    const u32 behind = padded(o.count, side) - o.count;
    for (u32 i = dev::thread(); i < 2 * quads * behind; i += block_threads)
      dev::put(memory, i % 2 * half_bytes + numbers_at + i / 2 % quads * column + (o.count + i / 2 / quads) * 16,
               dev::quad{});
  }
};

}  // namespace cke::cuda

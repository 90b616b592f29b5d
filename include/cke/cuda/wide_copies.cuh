// SPDX-License-Identifier: MIT
// wide_copies.cuh: the shared parts of products of 64 rows and 64 tokens: operands, sums, and copies to shared memory.
#pragma once

#include "matmul.cuh"

namespace cke::cuda {

// Two units, or one and a null, times tokens [first, first + count) of x.
struct wide_operands {
  const std::byte* unit[2];
  u32 cols;
  const view& x;
  u32 first, count;
};

// Sums are returned in shared memory: that of (token, row of unit h) has index token * sums_of_token + h * 32 + row.
inline constexpr u32 sums_of_token = 2 * unit_rows + 4;  // padded, so that rows of two tokens avoid bank conflicts
inline constexpr u32 wide_sums_bytes = wide_tokens * sums_of_token * 4;

// A warp's share in the layout of an mma's accumulator: 16 rows of a unit x 32 tokens.
// acc[c][2 r + t] belongs to row `row` + 8 r and token first + 8 c + 2 (lane % 4) + t.
struct warp_part {
  u32 half = dev::warp() / 2 % 2, row = dev::warp() % 2 * 16 + dev::lane() / 4, first = dev::warp() / 4 * 32;

  CKE_DEVICE bool is_of(const wide_operands& o) const { return (half ? o.unit[1] : o.unit[0]) && first < o.count; }
  // Call this once the block no longer needs its tiles.
  CKE_DEVICE dev::shared<float> sums_of(const float (&acc)[4][4], bool mine) const {
    const dev::shared<float> sums = dev::shared_memory().take<float>(wide_sums_bytes / 4);
    if (mine) CKE_UNROLL
    for (u32 c = 0; c < 4; ++c) CKE_UNROLL
    for (u32 i = 0; i < 4; ++i)
      sums[(first + c * 8 + dev::lane() % 4 * 2 + i % 2) * sums_of_token + half * unit_rows + row + i / 2 * 8] =
          acc[c][i];
    dev::sync();
    return sums;
  }
};

template <class Arch> struct wide_copies {
  // Copies 16 bytes to shared memory; they are there after arrive() and a barrier.
  CKE_DEVICE static void quad(const dev::shared<std::byte>& to, u32 place, const std::byte* from) {
    if constexpr (by_itself) dev::copy_quad(to, place, from);
    else dev::put(to, place, dev::load(reinterpret_cast<const dev::quad*>(from)));
  }
  CKE_DEVICE static void arrive() {
    if constexpr (by_itself) dev::commit_copies(), dev::await_copies<0>();
  }

 private:
  static constexpr bool by_itself = std::is_base_of_v<sm80, Arch>;
};

}  // namespace cke::cuda

// SPDX-License-Identifier: MIT
// wide_copies.cuh: what products of 64 rows and up to 64 tokens share: what they are handed, and how it comes to a block's memory.
#pragma once

#include "matmul.cuh"

namespace cke::cuda {

// Two units, or one and none, times tokens [first, first + count) of x.
struct wide_operands {
  const std::byte* unit[2];
  u32 cols;
  const view& x;
  u32 first, count;
};

// Sums leave in the block's memory: that of (token, row of unit h) is number token * sums_of_token + h * 32 + row.
inline constexpr u32 sums_of_token = 2 * unit_rows + 4;  // so that rows of two tokens meet different banks
inline constexpr u32 wide_sums_bytes = wide_tokens * sums_of_token * 4;

template <class Arch> struct wide_copies {
  // 16 bytes for the block's memory, which are there after arrive() and a barrier.
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

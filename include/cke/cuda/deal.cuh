// SPDX-License-Identifier: MIT
// deal.cuh: deals numbered pieces of work out to all blocks of a grid, or to the blocks of a group.
#pragma once

#include "dev.cuh"

namespace cke::cuda {

// The kv heads [first, first + count).
struct head_range {
  u32 first, count;
};

// A group is a run of neighbouring blocks: a cluster, or blocks with a counter of their own, whose barriers are cheaper
// than that of the grid; or the whole grid.
// Each deal continues after the block where the last one ended, so that all blocks get nearly equal shares.
class dealer {
 public:
  CKE_CONSTEXPR dealer(u32 block, u32 blocks, u32 group)
      : blocks_(blocks),
        size_(group),
        block_(block),
        mine_(block / group),
        rank_(block % group),
        groups_(blocks / group),
        inverse_(~0u / groups_ + 1),
        inverse_of_size_(~0u / size_),
        inverse_of_blocks_(~0u / blocks_) {}

  CKE_CONSTEXPR bool grouped() const { return groups_ > 1; }
  CKE_CONSTEXPR u32 group() const { return mine_; }
  // The kv heads, out of `heads`, that this block's group computes.
  CKE_CONSTEXPR head_range heads(u32 heads) const {
    if (!grouped()) return {0, heads};
    const u32 first = over_groups(mine_ * heads);
    return {first, over_groups((mine_ + 1) * heads) - first};
  }

  // A block takes every size-th piece, starting at first(). Its rank is where it stands in the grid or group.
  CKE_CONSTEXPR u32 size(bool in_group) const { return in_group ? size_ : blocks_; }
  CKE_CONSTEXPR u32 rank(bool in_group) const { return in_group ? rank_ : block_; }
  CKE_CONSTEXPR u32 first(bool in_group) const {
    const u32 from = next(in_group), me = rank(in_group);
    return me < from ? me + size(in_group) - from : me - from;
  }
  CKE_CONSTEXPR void pass(bool in_group, u32 count) {
    const u32 then = rest(next(in_group) + count, size(in_group), in_group ? inverse_of_size_ : inverse_of_blocks_);
    if (in_group && grouped()) in_group_ = then;
    else among_all_ = then;
  }

 private:
  CKE_CONSTEXPR u32 next(bool in_group) const { return in_group && grouped() ? in_group_ : among_all_; }
  // x / groups for x < 2^16, without a division, which would delay the waiting blocks.
  CKE_CONSTEXPR u32 over_groups(u32 x) const { return static_cast<u32>(u64{x} * inverse_ >> 32); }

  // x % n, if inverse is ~0u / n: so the quotient is too small by at most two.
  CKE_CONSTEXPR static u32 rest(u32 x, u32 n, u32 inverse) {
    x -= static_cast<u32>(u64{x} * inverse >> 32) * n;
    if (x >= n) x -= n;
    return x >= n ? x - n : x;
  }

  u32 blocks_, size_, block_, mine_, rank_, groups_, inverse_, inverse_of_size_, inverse_of_blocks_;
  u32 among_all_ = 0, in_group_ = 0;  // rank whose turn is next
};

}  // namespace cke::cuda

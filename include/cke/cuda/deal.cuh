// SPDX-License-Identifier: MIT
// deal.cuh: who of the blocks of a grid has what: numbers that are dealt out to all of them, or to those of a group.
#pragma once

#include "dev.cuh"

namespace cke::cuda {

// Kv heads [first, first + count).
struct head_range {
  u32 first, count;
};

// Groups are neighbours, all of one size: clusters, which wait at less cost than a grid does; or there is one, of all blocks.
// Dealing goes on where it last ended, so that all blocks get alike much.
class dealer {
 public:
  CKE_CONSTEXPR dealer(u32 block, u32 blocks, u32 group)
      : blocks_(blocks), size_(group), block_(block), mine_(block / group), rank_(block % group), groups_(blocks / group), inverse_(~0u / groups_ + 1) {}

  CKE_CONSTEXPR bool grouped() const { return groups_ > 1; }
  // Of `heads` those of this block's group.
  CKE_CONSTEXPR head_range heads(u32 heads) const {
    if (!grouped()) return {0, heads};
    const u32 first = over_groups(mine_ * heads);
    return {first, over_groups((mine_ + 1) * heads) - first};
  }

  // A block has every size-th number from some first one on: its rank, where dealing begins anew.
  CKE_CONSTEXPR u32 size(bool in_group) const { return in_group ? size_ : blocks_; }
  CKE_CONSTEXPR u32 rank(bool in_group) const { return in_group ? rank_ : block_; }
  CKE_CONSTEXPR u32 first(bool in_group) const {
    const u32 from = next(in_group), me = rank(in_group);
    return me < from ? me + size(in_group) - from : me - from;
  }
  CKE_CONSTEXPR void pass(bool in_group, u32 count) {
    const u32 then = (next(in_group) + count) % size(in_group);
    if (in_group && grouped()) in_group_ = then;
    else among_all_ = then;
  }

 private:
  CKE_CONSTEXPR u32 next(bool in_group) const { return in_group && grouped() ? in_group_ : among_all_; }
  // x / groups, of x below 2^16: divisions take long where blocks wait for it.
  CKE_CONSTEXPR u32 over_groups(u32 x) const { return static_cast<u32>(u64{x} * inverse_ >> 32); }

  u32 blocks_, size_, block_, mine_, rank_, groups_, inverse_;
  u32 among_all_ = 0, in_group_ = 0;  // of what was dealt out before: whose turn it is
};

}  // namespace cke::cuda

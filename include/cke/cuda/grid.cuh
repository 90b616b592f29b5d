// SPDX-License-Identifier: MIT
// grid.cuh: how many blocks of a persistent kernel live at once, and in which groups they share the heads of a layer.
#pragma once

#include "../core/types.hpp"

namespace cke::cuda {

// cluster: blocks of a hardware cluster; 1: none. group: without clusters, blocks that wait for one another at a
// counter of their own; 0: no groups.
struct residents {
  u32 blocks, cluster = 1, group = 0;
  // Blocks that share heads: all of them where there are neither clusters nor groups.
  constexpr u32 of_group() const { return cluster > 1 ? cluster : group > 0 ? group : blocks; }
};

// The most that a launch may ask for.
enum class grouping : u8 { none, counters, clusters };

// `all`: blocks that fit at once. heads: kv heads that groups may share, or 0. clusters_of(size): how many clusters of
// so many blocks fit. goes(residents): whether a cooperative launch of such clusters is accepted. Groups divide the
// heads evenly and leave at most one block in 16 unused. Clusters are preferred, because their waits are cheaper; but
// GPCs of unequal size often leave too many multiprocessors without one.
template <class ClustersOf, class Goes> constexpr residents choose_grid(u32 all, u32 heads, grouping most,
                                                                        ClustersOf clusters_of, Goes goes) {
  const auto enough = [&](u32 blocks) { return blocks > 0 && u64{blocks} * 16 >= u64{all} * 15; };
  if (most == grouping::clusters && heads > 0)
    for (const u32 size : {16u, 8u})
      for (u32 clusters = clusters_of(size); clusters > 1; --clusters)
        if (const residents live{clusters * size, size};
            heads % clusters == 0 && enough(live.blocks) && live.blocks <= all && goes(live))
          return live;
  if (most != grouping::none)
    for (u32 groups = heads; groups > 1; --groups)
      if (heads % groups == 0 && enough(all / groups * groups)) return {all / groups * groups, 1, all / groups};
  return {all};
}

// Tokens per launch on a device that ends launches which run too long, as GPUs with a display do. seconds: what a
// launch may take; 0: any time.
class launch_budget {
 public:
  explicit constexpr launch_budget(double seconds = 0) : seconds_(seconds) {}
  constexpr u32 tokens(u32 left) const { return seconds_ == 0 || left < next_ ? left : next_; }
  // A launch of so many tokens took so many seconds.
  constexpr void took(u32 tokens, double seconds) {
    const double fit = seconds > 0 ? seconds_ / seconds * tokens : 2. * next_;
    next_ = fit < 1 ? 1 : fit > 2. * next_ ? 2 * next_ : static_cast<u32>(fit);
  }

 private:
  double seconds_;
  u32 next_ = 4;
};

}  // namespace cke::cuda

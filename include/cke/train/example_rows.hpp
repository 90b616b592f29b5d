// SPDX-License-Identifier: MIT
// example_rows.hpp: the rows of a pass of training: sequences one after the other.
#pragma once

#include <algorithm>
#include <vector>

#include "../core/concat.hpp"
#include "../core/error.hpp"
#include "../kernels/kernel.hpp"
#include "loss.hpp"

namespace cke::train {

// Ids, and for each the id that should follow it, or no_target.
struct example {
  std::span<const u32> ids, targets;
};

struct example_rows {
  std::vector<u32> ids, targets, segment_of, tiles;
  std::vector<segment> segments;
  std::vector<u32> targets_of;  // [segments]: how many targets count
  u32 longest = 0;              // positions of the longest sequence

  u32 count() const { return static_cast<u32>(ids.size()); }

  // Throws usage, token_range, context_overflow.
  void gather(std::span<const example> examples, u32 vocab, u32 context) {
    ids.clear(), targets.clear(), segment_of.clear(), tiles.clear(), segments.clear(), targets_of.clear();
    longest = 0;
    const auto check = [&](u32 id) {
      if (id >= vocab) throw Error(errc::token_range, {}, "id", concat({"less than ", vocab}), concat({id}));
    };
    for (const example& e : examples) {
      const auto n = static_cast<u32>(e.ids.size()), first = count();
      if (e.targets.size() != n) throw Error(errc::usage, {}, "targets", concat({n}), concat({e.targets.size()}));
      if (n > context)
        throw Error(errc::context_overflow, {}, "ids of an example", concat({"at most ", context}), concat({n}));
      for (const u32 id : e.ids) check(id);
      for (const u32 id : e.targets)
        if (id != no_target) check(id);
      ids.insert(ids.end(), e.ids.begin(), e.ids.end());
      targets.insert(targets.end(), e.targets.begin(), e.targets.end());
      for (u32 t = 0; t < n; t += unit_tokens) tiles.push_back(first + t);
      segment_of.resize(first + n, static_cast<u32>(segments.size()));
      if (n > 0) {
        segments.push_back({first, n, 0, {}});
        targets_of.push_back(static_cast<u32>(n - std::ranges::count(e.targets, no_target)));
      }
      longest = std::max(longest, n);
    }
  }
};

}  // namespace cke::train

// SPDX-License-Identifier: MIT
// page_plan.hpp: what a page of a sequence's states holds, and how many pages a sequence keeps.
#pragma once

#include "../core/params.hpp"
#include "../core/types.hpp"
#include "plan.hpp"

CKE_COMPILED_ONCE
namespace cke::graph {

// Bytes of one part of a page.
struct page_part {
  u64 caches{};     // of each key block
  u64 recurrent{};  // after the last key block: states after the last computed position of the page
};

// A page holds all that the layers keep of some positions, in two parts. The persistent part is needed as long as the
// sequence lives: caches of layers that see the whole history. The transient part is needed only by the positions soon
// after: caches of windows, recurrent states.
struct page_plan {
  page_part persistent{}, transient{};
  u32 blocks = 1;  // key blocks of a page
  u32 reach = 0;   // positions before the next one that it may see in transient parts
  bool recurrent = false;

  constexpr u32 positions() const { return blocks * key_block; }
  constexpr u32 pages(u32 count) const { return ceil_div(count, positions()); }
  constexpr u64 bytes(const page_part& p) const { return blocks * p.caches + p.recurrent; }

  // Most pages that keep their transient part: a pass sees `reach` positions before its first one, wherever pages
  // begin. At its end they also hold the chunk before it, so that a rewind by less than a chunk finds all it needs.
  constexpr u32 in_sight(u32 chunk) const { return ceil_div(reach + chunk - 1, positions()) + 1; }
  // Transient parts of a sequence within its context. Recurrent states stay at the ends of all pages, to rewind to.
  constexpr u32 kept(capacity k) const {
    const u32 all = pages(k.context), some = in_sight(k.chunk);
    return bytes(transient) == 0 ? 0 : recurrent || all < some ? all : some;
  }
  constexpr u64 bytes(capacity k) const { return pages(k.context) * bytes(persistent) + kept(k) * bytes(transient); }

  // The same in one part: transient caches after persistent ones.
  constexpr page_plan all_persistent() const {
    return {{persistent.caches + transient.caches, transient.recurrent}, {}, blocks, 0, recurrent};
  }
};

}  // namespace cke::graph

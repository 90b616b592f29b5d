// SPDX-License-Identifier: MIT
// page_plan.hpp: what a page of a sequence's states is made of, and how many of them a sequence keeps.
#pragma once

#include "../core/params.hpp"
#include "../core/types.hpp"
#include "plan.hpp"

CKE_COMPILED_ONCE
namespace cke::graph {

// Bytes of a part of a page.
struct page_part {
  u64 caches{};     // of each key block
  u64 recurrent{};  // behind the last of them: states after the last position in the page that was computed
};

// A page is all that the layers keep of some positions, in two parts. What lasts is wanted as long as the sequence
// lives: caches of layers that see everything. What passes is wanted by positions soon after: caches of windows,
// recurrent states.
struct page_plan {
  page_part persistent{}, transient{};
  u32 blocks = 1;  // key blocks of a page
  u32 reach = 0;   // positions before the next one that it may look at in what passes
  bool recurrent = false;

  constexpr u32 positions() const { return blocks * key_block; }
  constexpr u32 pages(u32 count) const { return ceil_div(count, positions()); }
  constexpr u64 bytes(const page_part& p) const { return blocks * p.caches + p.recurrent; }

  // Most pages that what passes is kept in: a pass sees `reach` positions before its first one, wherever pages begin.
  // At its end they hold the chunk before it too, so that going back by less than a chunk finds all it wants.
  constexpr u32 in_sight(u32 chunk) const { return ceil_div(reach + chunk - 1, positions()) + 1; }
  // Of a sequence within its context. Recurrent states are kept at the ends of all pages, to go back to.
  constexpr u32 kept(capacity k) const {
    const u32 all = pages(k.context), some = in_sight(k.chunk);
    return bytes(transient) == 0 ? 0 : recurrent || all < some ? all : some;
  }
  constexpr u64 bytes(capacity k) const { return pages(k.context) * bytes(persistent) + kept(k) * bytes(transient); }

  // The same in one part: caches that pass behind those that last.
  constexpr page_plan all_lasting() const {
    return {{persistent.caches + transient.caches, transient.recurrent}, {}, blocks, 0, recurrent};
  }
};

}  // namespace cke::graph

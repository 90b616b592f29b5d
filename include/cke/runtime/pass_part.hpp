// SPDX-License-Identifier: MIT
// pass_part.hpp: what a slot has of a pass that several share, and what it gets out of it.
#pragma once

#include <algorithm>
#include <span>

#include "../core/row_sink.hpp"
#include "../kernels/kernel.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

template <class Slot> struct pass_part {
  std::span<const u32> ids;
  Slot& of;
  float* logits;          // where those of its last id go; null: nowhere
  row_sink hidden{};      // who gets the hidden states of its ids from `first` on, and no logits
  row_sink each{};        // who gets the logits of those ids
  u32 first{}, index{};   // and the number that it is told of that one

  u32 wanted() const { return each ? static_cast<u32>(ids.size()) - first : logits != nullptr; }  // rows of logits: the last ones
};

// Hands out the logits of a pass, as they come: of all parts' wanted rows in order.
class logits_giver {
 public:
  template <class PartOf> void operator()(const view& v, u32 rows, PartOf&& part_of) {
    for (u32 r = 0; r < rows;) {
      const auto p = part_of(part_);
      if (given_ == p.wanted()) {
        ++part_, given_ = 0;
        continue;
      }
      if (p.each) p.each.take(p.each.user, p.index + given_, v.row(r));
      if (++given_ == p.wanted() && p.logits) std::copy_n(v.row(r), v.width, p.logits);
      ++r;
    }
  }

 private:
  u32 part_ = 0, given_ = 0;  // of part_ so far
};

}  // namespace cke::runtime
CKE_COLD_END

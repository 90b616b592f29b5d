// SPDX-License-Identifier: MIT
// pass_part.hpp: one sequence's share of a batched pass, and what it receives from it.
#pragma once

#include <algorithm>
#include <span>

#include "../core/row_sink.hpp"
#include "../kernels/kernel.hpp"
#include "image_store.hpp"
#include "state.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

struct pass_part {
  std::span<const u32> ids;
  sequence_state& of;
  float* logits;      // receives the logits [vocab] after the last id; null: not wanted
  row_sink hidden{};  // receives the hidden states of ids [first, end), instead of logits
  row_sink each{};    // receives the logits after each of ids [first, end)
  u32 first{};
  u32 index{};                  // the number that a sink is told for id `first`
  const image_track* images{};  // of the sequence; null: it has none

  u32 tokens() const { return static_cast<u32>(ids.size()); }
  // Rows that the footer computes logits of: the last ones. `logits` needs one where `each` needs none.
  u32 logit_rows() const { return std::max<u32>(each ? tokens() - first : 0u, logits != nullptr); }
  // Rows that anything is read of after the layers: the last ones.
  u32 rows_read() const { return hidden ? tokens() - first : logit_rows(); }
};

// Hands out the logits of a pass as they are computed: those of all parts' logit_rows(), in order.
class logits_giver {
 public:
  template <class PartOf> void operator()(const view& v, u32 rows, PartOf&& part_of) {
    for (u32 r = 0; r < rows;) {
      const auto p = part_of(part_);
      if (given_ == p.logit_rows()) {
        ++part_, given_ = 0;
        continue;
      }
      if (p.each && p.first < p.tokens()) p.each.take(p.each.user, p.index + given_, v.row(r));
      if (++given_ == p.logit_rows() && p.logits) std::copy_n(v.row(r), v.width, p.logits);
      ++r;
    }
  }

 private:
  u32 part_ = 0, given_ = 0;  // rows of part_ so far
};

}  // namespace cke::runtime
CKE_COLD_END

// SPDX-License-Identifier: MIT
// tensor_layout.hpp: the tensors of a checkpoint that a program's weights lie in: their names and shapes, and whose
// rows are where.
#pragma once

#include <string>

#include "../core/tensor_name.hpp"
#include "../graph/program_data.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// Where the rows of a weight lie in a tensor: `ours` rows from `first` on, in every `part` rows of `all`. An expert's
// weight is such a part.
struct rows_in_tensor {
  u32 first, ours, part, all;
};  // all: rows of the tensor, or of an expert's part of it

// The columns of a transposed matrix in those of the tensor. Experts' matrices of several roles are side by side.
struct columns_in_tensor {
  u32 first, all;
};

// The number of experts, or heads, that have a matrix each in a weight.
constexpr u32 groups_of(const weight& w) {
  return of_experts(w.slot.is) || of_heads(w.slot.is) ? w.slot.rows / w.slot.group : 0;
}

// How files keep a weight: in `count` tensors, one or one for each expert, of the shape [groups][height][width], or
// [height][width] where groups is 0.
struct stored_weight {
  rows_in_tensor rows;  // other roles may have rows before and after these
  columns_in_tensor columns;
  u32 paired_head_dim;  // rows of a head are stored as pairs (i, i + d / 2); 0: plain order
  change was;           // how the file has changed it
  u32 count;
  u64 groups, height, width;

  // The tensor and the row in it that have row r of the model.
  struct file_row {
    u32 tensor, row;
  };
  file_row row(u32 r) const {
    const u32 d = paired_head_dim, part = r / rows.ours, in_part = r % rows.ours,
              at = rows.first + (d == 0 ? in_part : in_part / d * d + 2 * (in_part % (d / 2)) + in_part % d / (d / 2));
    return count > 1 ? file_row{part, at} : file_row{0, part * rows.part + at};
  }
};

class tensor_layout {
 public:
  // `p` and `names` outlive this.
  tensor_layout(const program_data& p, naming as, std::span<const name_rule> names) : p_(p), as_(as), names_(names) {}

  const name_rule& rule(const weight& w) const { return name_of(names_, w.where, w.slot); }
  const spellings& spelled(const weight& w) const { return rule(w).in(as_); }
  change change_of(const weight& w) const { return rule(w).in_file(as_); }

  // `which`: of the names that a weight may have.
  std::string name(const weight& w, u32 which, u32 expert) const {
    const spelling& s = spelled(w)[which];
    return tensor_name(s, w.slot.bias, s.counts_taps ? p_.taps_before(w.layer) : w.layer, expert);
  }
  stored_weight of(const weight& w, u32 which, change was) const {
    const spelling& mine = spelled(w)[which];
    const rows_in_tensor rows = place_in_tensor(mine, which, w, was);
    const bool flat = of_heads(w.slot.is) && as_ == naming::hf;
    const u32 groups = groups_of(w);
    const bool apart = groups > 0 && name(w, which, 0) != name(w, which, 1);
    const columns_in_tensor columns = columns_of(mine, which, w, was);
    return {rows,
            columns,
            was == change::paired_heads ? head_dim_of(w) : 0,
            was,
            apart ? groups : 1,
            apart || flat ? u64{0} : groups,
            flat ? u64{groups} * rows.all : rows.all,
            columns.all};
  }

 private:
  u32 head_dim_of(const weight& w) const {
    for (const auto& s : p_.unfused_of(w.layer).states) return s.head_dim;
    return 0;
  }

  // Rows of the model's matrix, of an expert's or a head's; a vector counts as a matrix of one column.
  static u32 rows_of_model(const weight_slot& s) {
    return !s.quantisable ? s.rows * s.cols : of_experts(s.is) || of_heads(s.is) ? s.group : s.rows;
  }
  // What comes before a role, and the sum of all, where a tensor keeps several one after the other.
  struct share {
    u32 first{}, all{};
  };
  share share_of(const spelling& mine, u32 which, const weight& w, auto size) const {
    share at;
    for (const weight_slot& s : p_.unfused_of(w.layer).slots) {
      const spelling& other = name_of(names_, w.where, s).in(as_)[which];
      if (s.bias != w.slot.bias || !other.in_tensor_of(mine)) continue;
      at.all += size(s);
      if (other.index < mine.index) at.first += size(s);
    }
    return at;
  }
  // The model's rows are the columns of a transposed matrix; of experts, those of all roles of the tensor.
  columns_in_tensor columns_of(const spelling& mine, u32 which, const weight& w, change was) const {
    if (was != change::transposed) return {0, w.slot.cols};
    if (!mine.is_part() || !of_experts(w.slot.is)) return {0, rows_of_model(w.slot)};
    const share at = share_of(mine, which, w, rows_of_model);
    return {at.first, at.all};
  }
  rows_in_tensor place_in_tensor(const spelling& mine, u32 which, const weight& w, change was) const {
    const auto whole = [&](const weight_slot& s) {
      const change its = of_experts(s.is) ? was : name_of(names_, w.where, s).in_file(as_);
      return its == change::transposed ? s.cols : rows_of_model(s);
    };
    const auto size = [&](const weight_slot& s) { return mine.take == taking::head_rows ? s.part : whole(s); };
    const u32 ours = size(w.slot);
    if (!mine.is_part() || (was == change::transposed && of_experts(w.slot.is))) return {0, ours, ours, ours};
    const share at = share_of(mine, which, w, size);
    return {at.first, ours, at.all, at.all * (whole(w.slot) / ours)};
  }

  const program_data& p_;
  const naming as_;
  const std::span<const name_rule> names_;
};

}  // namespace cke::runtime
CKE_COLD_END

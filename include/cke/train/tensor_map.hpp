// SPDX-License-Identifier: MIT
// tensor_map.hpp: where the numbers of a weight lie in the tensors of its file, and in which layout.
#pragma once

#include <cmath>
#include <vector>

#include "../runtime/weight_tensors.hpp"

namespace cke::train {

struct tensor_map : stored_weight {
  std::vector<u64> tensors;  // [count] numbers in the source's list

  static tensor_map of(const weight_place& p) {
    tensor_map m{p, {}};
    for (const weight_tensor& t : p.from) m.tensors.push_back(t.number);
    return m;
  }

  // f(ours, apart, row, column, count): numbers `ours`, ours + apart, ... of the weight, `count` of them, are those
  // of row `row` of tensors[tensor] from `column` on.
  template <class F> void each_run(const weight& w, u32 tensor, F f) const {
    const weight_slot& slot = w.slot;
    if (!slot.quantisable) {  // taps are stored as [taps][channels]; a file has a channel's after one another
      for (u32 i = 0; i < slot.elements(); ++i)
        f(u64{i % slot.cols} * slot.rows + i / slot.cols, u64{1}, row(i).row, 0u, 1u);
      return;
    }
    if (was == change::transposed) {
      const u32 group = slot.group ? slot.group : slot.rows;
      for (u32 g = 0; g < slot.rows / group; ++g)
        for (u32 c = 0; c < slot.cols; ++c)
          f(u64{g} * group * slot.cols + c, u64{slot.cols}, g * rows.part + rows.first + c, columns.first, group);
      return;
    }
    const bool apart = count > 1;  // an expert's rows are all of its tensor's
    for (u32 r = apart ? tensor * rows.ours : 0; r < (apart ? (tensor + 1) * rows.ours : slot.rows); ++r)
      f(u64{r} * slot.cols, u64{1}, row(r).row, 0u, slot.cols);
  }
  // A number of the file as the model has it, and back; and the slope of the way to the model.
  float from_file(float x) const {
    return was == change::plus_one ? x - 1 : was == change::minus_exp ? std::log(-x) : x;
  }
  float to_file(float x) const { return was == change::plus_one ? x + 1 : was == change::minus_exp ? -std::exp(x) : x; }
  float slope(float ours) const { return was == change::minus_exp ? -std::exp(-ours) : 1; }
  // Numbers of a row of such a tensor.
  u32 width(const weight& w) const {
    return !w.slot.quantisable ? 1 : was == change::transposed ? columns.all : w.slot.cols;
  }
};

}  // namespace cke::train

// SPDX-License-Identifier: MIT
// rope_cache.hpp: the cos and sin tables of a program, for every position of a context and some rows beyond it.
#pragma once

#include <memory>

#include "../kernels/attention/rope_frequencies.hpp"
#include "../kernels/kernel.hpp"
#include "arena.hpp"
#include "image_rows.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// What turns frequency i of `count`.
constexpr u32 axis_of(const rotary& r, u32 i, u32 count, const grid_position& at) {
  if (r.axes == rope_axes::column_row) return i < count / 2 ? at.x : at.y;
  if (r.axes != rope_axes::sequence) return i < count / 2 ? at.y : at.x;
  if (r.interleaved) return i % 3 == 1 && i < 3 * r.section_h ? at.y : i % 3 == 2 && i < 3 * r.section_w ? at.x : at.t;
  return i < r.section_t                            ? at.t
      : i < r.section_t + r.section_h               ? at.y
      : i < r.section_t + r.section_h + r.section_w ? at.x
                                                    : at.t;
}

// One table for each distinct rope and head_dim. Filled at load; looked up by value.
class rope_cache {
 public:
  // `more` rows after those of the context are filled by turn(). Throws out_of_memory.
  void add(const rotary& r, u32 head_dim, u32 context, u32 more = 0) {
    if (find(r, head_dim).cos) return;
    rope_frequencies f = rope_frequencies::of(r, head_dim, context);
    const u64 half = f.inverse.size(), rows = u64{context} + more;
    arena memory(2 * align_up(half * rows * sizeof(float)));
    float* const cos = memory.take<float>(half * rows);
    float* const sin = memory.take<float>(half * rows);
    for (u64 p = 0; p < context; ++p) f.row(p, cos + p * half, sin + p * half);
    first_.reset(new table{
        r, head_dim, {cos, sin, context, context}, cos, sin, std::move(f), std::move(memory), std::move(first_)});
  }
  // Fills row `row` after the context with the angles of a position.
  void turn(u32 row, u32 position) {
    for (table* t = first_.get(); t; t = t->next.get()) {
      const u64 at = (u64{t->rows.context} + row) * t->angles.inverse.size();
      t->angles.row(position, t->cos + at, t->sin + at);
    }
  }
  // Fills row `row` after the context with the angles of a place: of a patch, or of a token in a text with images.
  void turn(u32 row, const grid_position& at) {
    for (table* t = first_.get(); t; t = t->next.get()) {
      const u32 count = static_cast<u32>(t->angles.inverse.size());
      const u64 begin = (u64{t->rows.context} + row) * count;
      t->angles.row_by_axis([&](u32 i) { return axis_of(t->rope, i, count, at); }, t->cos + begin, t->sin + begin);
    }
  }
  // Null pointers when there is none.
  rope_view find(const rotary& r, u32 head_dim) const {
    for (const table* t = first_.get(); t; t = t->next.get())
      if (t->rope == r && t->head_dim == head_dim) return t->rows;
    return {};
  }

 private:
  struct table {
    rotary rope;
    u32 head_dim;
    rope_view rows;    // [context + more][dims / 2] each
    float *cos, *sin;  // the same, to write
    rope_frequencies angles;
    arena memory;
    std::unique_ptr<table> next;
  };
  std::unique_ptr<table> first_;  // a list: models have one to three
};

}  // namespace cke::runtime
CKE_COLD_END

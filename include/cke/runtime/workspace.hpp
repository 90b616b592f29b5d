// SPDX-License-Identifier: MIT
// workspace.hpp: the memory of a pass: the stream, the registers of each block, each thread's scratch.
#pragma once

#include <vector>

#include "arena.hpp"
#include "compiled_program.hpp"
#include "image_rows.hpp"
#include "image_store.hpp"
#include "pass.hpp"
#include "pass_addresses.hpp"
#include "rope_cache.hpp"
#include "state.hpp"
#include "table_places.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// Places a program's registers, and hands each step its memory. Shared by all sessions of a model: one pass runs at a
// time.
class workspace {
 public:
  // `m` outlives this. Throws out_of_memory.
  workspace(const compiled_program& m, const state_facts& states, capacity k, u32 threads, bool huge_pages = true);

  const compiled_program& compiled() const { return m_; }
  const capacity& limits() const { return capacity_; }
  u64 bytes() const { return memory_.size(); }
  u32 kv_heads() const { return heads_; }              // the most of any layer
  const patch_order& order() const { return order_; }  // of the rows of a tower's pass

  // The arguments of a step of code `index` (0: header, 1 + variant, last: footer) in a layer, for one thread.
  work prepare(const code& c, u32 index, form f, const instruction& i, const pass& now, u32 thread,
               const std::byte* const* weight_row, u32 layer, u32 state) const;

  pass_addresses begin() const {
    return {stream_, layer_inputs_, shared_, threads_, threads_ + per_thread_bytes_, parts_};
  }
  rope_view rope(const rotary& r, u32 head_dim) const { return ropes_.find(r, head_dim); }

  // The footer's output, [rows][vocab] with a stride.
  view logits(form f) const;

  pass_rows& rows() { return rows_; }  // of the current pass
  // Its rows from `first` on.
  pass last_rows(u32 first);
  // Adds the ids of a sequence to it; `track`: the images of the sequence, or null.
  void add(std::span<const u32> ids, const sequence_state& s, const image_track* track);
  // Puts the pass of a tower together: the patches of an image, patch(at, to) to write each.
  pass add_image(patch_grid g, function_ref<void(patch_place, float*)> patch);
  // The outputs of deepstack letters, [rows][taps * width] with a stride.
  view tap_rows() const { return {layer_inputs_, beside_width_, row_stride(beside_width_), dtype::f32}; }
  float* row(u32 r) { return reinterpret_cast<float*>(stream_) + u64{r} * row_stride(p_.dim); }  // of the stream
  void copy_row(u32 from, u32 to) {
    if (from != to) std::memcpy(row(to), row(from), row_stride(p_.dim) * sizeof(float));
  }

 private:
  u64 head_block(const params& p) const;
  u64 ephemeral_block() const;
  view at(const code& c, const graph::layout& l, reg r, const pass& now, u32 thread, u32 layer) const;

  const compiled_program& m_;
  const program_data& p_;
  capacity capacity_;
  patch_order order_;
  bool slides_, sees_images_, turns_by_image_;
  u32 beside_width_, patch_stride_;
  std::vector<kv_place> places_;  // of states
  arena memory_;
  std::byte *stream_{}, *layer_inputs_{}, *shared_{}, *threads_{};
  const float** features_{};  // [chunk]: of rows of images
  u32* visible_{};            // [chunk]: index after the last row that a row sees
  std::byte* patches_{};      // of a tower
  image_cache image_;
  table_places table_places_;
  float* parts_{};
  u32 heads_{};
  u64 per_thread_bytes_{}, thread_bytes_{};
  std::vector<graph::layout> layouts_[2];  // of each code: decode, prefill
  rope_cache ropes_;
  pass_rows rows_, last_rows_;
};

}  // namespace cke::runtime
CKE_COLD_END

#ifndef CKE_COMPILED
#include "workspace-inl.hpp"
#endif

// SPDX-License-Identifier: MIT
// workspace.hpp: the memory of a pass: the stream, the registers of each block, each thread's scratch.
#pragma once

#include <algorithm>

#include "../graph/program.hpp"
#include "../kernels/attention/attention_steps.hpp"
#include "arena.hpp"
#include "image_rows.hpp"
#include "image_store.hpp"
#include "pass.hpp"
#include "pass_addresses.hpp"
#include "rope_cache.hpp"
#include "state.hpp"
#include "step_facts.hpp"
#include "table_places.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// Places a program's registers, and hands each step its memory. Shared by all sessions of a model: one pass runs at a
// time.
template <class P, dtype KV, class Isa> class workspace {
 public:
  static constexpr u32 codes = P::body_count + 2;  // header, bodies, footer

  workspace(capacity k, u32 threads, bool huge_pages = true) : capacity_(k) {
    const auto m = P::activations(k);
    const u64 scratch = scratch_of_program<P, KV, Isa>(k.chunk);
    u64 parts = 0;
    each_code([&](u32 index, const code& c) {
      const u32 rows = index == codes - 1 ? k.logit_rows : k.chunk;
      layouts_[0][index] = place_registers(c, form::decode, rows < decode_rows ? rows : decode_rows);
      layouts_[1][index] = place_registers(c, form::prefill, rows);
      for (const auto& i : c.ops) {
        if (attends(i.op)) {
          const auto& p = i.p.as<attention_params>();
          parts = std::max(parts, attend_parts<KV, Isa>(p, rows < decode_rows ? rows : decode_rows, k.context));
          heads_ = std::max(heads_, p.shape.kv_heads);
        }
        if (const turned_head of = turned(i.p); of.rope)
          ropes_.add(*of.rope, of.head_dim, P::is_tower ? 0 : k.context, P::slides || P::turns_by_image ? k.chunk : 0);
      }
    });
    per_thread_bytes_ = align_up(m.per_thread);
    thread_bytes_ = per_thread_bytes_ + align_up(scratch) + 4096;
    memory_ = arena(m.stream + m.layer_inputs + m.scratch + align_up(parts) + thread_bytes_ * threads +
                        2 * pass_rows::bytes(k.chunk) +
                        (P::is_tower ? m.ids + image_cache::bytes(ephemeral_block(), k.chunk) : 0) +
                        (P::sees_images ? align_up(k.chunk * sizeof(float*)) + align_up(k.chunk * sizeof(u32)) : 0),
                    huge_pages);
    stream_ = memory_.take(m.stream);
    layer_inputs_ = memory_.take(m.layer_inputs);
    shared_ = memory_.take(m.scratch);
    parts_ = reinterpret_cast<float*>(memory_.take(align_up(parts)));
    threads_ = memory_.take(thread_bytes_ * threads);
    rows_ = pass_rows(memory_, k.chunk), last_rows_ = pass_rows(memory_, k.chunk);
    if constexpr (P::sees_images)
      features_ = memory_.take<const float*>(k.chunk), visible_ = memory_.take<u32>(k.chunk);
    if constexpr (P::is_tower) {
      patches_ = memory_.take(m.ids);
      image_ = image_cache(memory_, ephemeral_block(), k.chunk);
    }
  }

  // Of the rows of a tower's pass.
  static constexpr patch_order order{P::merge_side, P::window_side};

  const capacity& limits() const { return capacity_; }
  u64 bytes() const { return memory_.size(); }
  u32 kv_heads() const { return heads_; }  // the most of any layer

  // The arguments of a step of code `index` (0: header, 1 + variant, last: footer) in a layer, for one thread.
  CKE_OUT_OF_LINE work prepare(const code& c, u32 index, form f, const instruction& i, const pass& now, u32 thread,
                               const std::byte* const* weight_row, u32 layer, u32 state) const {
    const graph::layout& l = layouts_[f == form::prefill][index];
    work w;
    const pass_segments seen = now.seen_by(i.p);
    w.tokens = now.tokens / c.tokens_of_row(i), w.segments = seen.segments, w.segment_of = seen.segment_of,
    w.tiles = seen.tiles;
    w.by = partition_of(i, f).by;
    w.scratch = threads_ + thread * thread_bytes_ + per_thread_bytes_;
    for (u32 k = 0; k < i.in.count; ++k) w.in[k] = at(c, l, i.in[k], now, thread, layer);
    for (u32 k = 0; k < i.out.count; ++k) w.out[k] = at(c, l, i.out[k], now, thread, layer);
    for (u32 k = 0; k < i.weight.count; ++k) w.weight[k] = weight_row[i.weight[k]];
    if constexpr (P::sees_images) w.features = features_ + now.skip, w.visible = visible_ + now.skip;
    if constexpr (P::is_tower) {
      if (i.state != absent) w.kv = {0, head_block(i.p), 1, false};
      w.positions = now.positions;
    } else {
      if (i.state != absent) w.kv = sequence_state<P, KV, Isa>::places[state];
    }
    w.parts = parts_;
    if (const turned_head of = turned(i.p); of.rope)
      w.rope = ropes_.find(*of.rope, of.head_dim), w.rope.beyond += now.skip;
    return w;
  }

  pass_addresses begin() const {
    return {stream_, layer_inputs_, shared_, threads_, threads_ + per_thread_bytes_, parts_};
  }
  rope_view rope(const rotary& r, u32 head_dim) const { return ropes_.find(r, head_dim); }

  // The footer's output, [rows][vocab] with a stride.
  view logits(form f) const {
    const code& c = P::footer_code();
    return at(c, layouts_[f == form::prefill][codes - 1], static_cast<reg>(c.regs.size() - 1), {}, 0, 0);
  }

  pass_rows& rows() { return rows_; }  // of the current pass
  // Its rows from `first` on.
  pass last_rows(u32 first) {
    last_rows_.take(rows_, first);
    pass p = last_rows_.all();
    p.skip = first;
    return p;
  }
  // Adds the ids of a sequence to it; `track`: the images of the sequence, or null.
  void add(std::span<const u32> ids, const sequence_state<P, KV, Isa>& s, const image_track* track) {
    const u32 first = rows_.tokens();
    const bool turned = P::turns_by_image && track && !track->empty();
    if constexpr (P::slides)
      for (u32 t = 0; t < ids.size(); ++t)
        if (const u32 position = s.position() + t; position >= capacity_.context) ropes_.turn(first + t, position);
    rows_.add(ids, s.position(), s.pages(), s.pages(true), turned);
    if constexpr (P::sees_images)
      for (u32 t = 0; t < ids.size(); ++t) {
        const u32 row = first + t, index = s.position() + t;
        const auto facts = track ? track->facts(index) : image_track::row_facts{{}, nullptr, index + 1};
        features_[row] = facts.features, visible_[row] = facts.end;
        if (facts.features) rows_.replace_id(row, P::scattered.pad);
        if (turned) ropes_.turn(row, facts.at);
      }
  }
  // Puts the pass of a tower together: the patches of an image, patch(at, to) to write each.
  template <class F> pass add_image(patch_grid g, F&& patch) {
    rows_.clear();
    rows_.add(g.patches(), 0, image_.pages(), image_.pages());
    pass p = rows_.all();
    if constexpr (order.window > 0) {
      last_rows_.clear();
      while (last_rows_.tokens() < p.tokens) {  // the windows are runs of rows
        const u32 first = last_rows_.tokens();
        last_rows_.add(order.window_of(g, first).size.patches(), first, image_.pages(), image_.pages());
      }
      p.windows = last_rows_.parts();
    }
    for (u32 t = 0; t < p.tokens; ++t) {
      const patch_place at = order.place_of(g, t);
      ropes_.turn(t, {0, at.y, at.x});
      float* const to = reinterpret_cast<float*>(patches_) + u64{t} * patch_stride;
      patch(at, to);
      if constexpr (P::reads_text) {
        const u32 id = static_cast<u32>(*to);
        std::memcpy(to, &id, sizeof id);
      }
    }
    for (const instruction& i : P::header_code().ops)
      if (i.op == opcode::learned_positions) p.positions = places_.of(i.p.template as<positions_params>(), g, order);
    return p;
  }
  // The outputs of deepstack letters, [rows][taps * width] with a stride.
  view tap_rows() const { return {layer_inputs_, P::beside_width, row_stride(P::beside_width), dtype::f32}; }
  float* row(u32 r) { return reinterpret_cast<float*>(stream_) + u64{r} * row_stride(P::dim); }  // of the stream
  void copy_row(u32 from, u32 to) {
    if (from != to) std::memcpy(row(to), row(from), row_stride(P::dim) * sizeof(float));
  }

  template <class F> static constexpr void each_code(F f) {
    f(0u, P::header_code());
    for (u32 v = 0; v < P::body_count; ++v) f(v + 1, *P::bodies[v]);
    f(codes - 1, P::footer_code());
  }

 private:
  // Bytes of a block of keys and values of a kv head, and of all heads of a layer.
  static constexpr u64 head_block(const params& p) {
    const u32 head_dim = p.kind() == kind_of<kv_store_params> ? p.get<kv_store_params>().head_dim
                                                              : p.as<attention_params>().shape.head_dim;
    return kv_cache<KV, Isa>::block_bytes(head_dim);
  }
  static constexpr u64 ephemeral_block() {
    u64 most = 0;
    each_code([&](u32, const code& c) {
      for (const auto& i : c.ops)
        if (i.op == opcode::kv_store) most = std::max(most, head_units(i.p) * head_block(i.p));
    });
    return most;
  }

  static constexpr u32 patch_stride = P::reads_text ? 1 : row_stride(P::patch_width);
  view at(const code& c, const graph::layout& l, reg r, const pass& now, u32 thread, u32 layer) const {
    const value& v = c.regs[r];
    const u32 stride = row_stride(v.width);
    if (P::is_tower && r == token_ids) return {patches_, P::patch_width, patch_stride, dtype::f32};
    if (P::is_tower && r == tapped) {
      const u32 tap = P::tap_outputs.of[layer], all = row_stride(P::beside_width);
      return {layer_inputs_ + u64{tap} * v.width * sizeof(float), v.width, all, v.as};
    }
    if (r == token_ids) return {reinterpret_cast<std::byte*>(const_cast<u32*>(now.ids)), 1, 1, dtype::f32};
    if (r == stream) return {stream_ + u64{now.skip} * stride * sizeof(float), v.width, stride, v.as};
    if (r == layer_inputs)
      return {
          layer_inputs_ + (u64{now.skip} * row_stride(P::layer_inputs_width) + u64{layer} * v.width) * sizeof(float),
          v.width, row_stride(P::layer_inputs_width), v.as};
    std::byte* base = l.is_per_thread(r) ? threads_ + thread * thread_bytes_ : shared_;
    const u64 left_out = now.within && v.as == dtype::f32 ? u64{now.skip} * v.rows * stride * sizeof(float) : 0;
    return {base + l.offset[r] + left_out, v.width, stride, v.as};
  }

  capacity capacity_;
  arena memory_;
  std::byte *stream_{}, *layer_inputs_{}, *shared_{}, *threads_{};
  const float** features_{};  // [chunk]: of rows of images
  u32* visible_{};            // [chunk]: index after the last row that a row sees
  std::byte* patches_{};      // of a tower
  image_cache image_;
  table_places places_;
  float* parts_{};
  u32 heads_{};
  u64 per_thread_bytes_{}, thread_bytes_{};
  graph::layout layouts_[2][codes]{};
  rope_cache ropes_;
  pass_rows rows_, last_rows_;
};

}  // namespace cke::runtime
CKE_COLD_END

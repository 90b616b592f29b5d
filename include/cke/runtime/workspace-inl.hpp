// SPDX-License-Identifier: MIT
// workspace-inl.hpp: how workspace.hpp places registers, and puts passes together.
#pragma once

#include <algorithm>

#include "../kernels/attention/attention_units.hpp"
#include "workspace.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

CKE_ONCE workspace::workspace(const compiled_program& m, const state_facts& states, capacity k, u32 threads,
                              bool huge_pages)
    : m_(m),
      p_(*m.program),
      capacity_(k),
      order_{p_.merge_side(), p_.window_side()},
      slides_(p_.slides()),
      sees_images_(p_.sees_images()),
      turns_by_image_(p_.turns_by_image()),
      beside_width_(p_.beside_width()),
      patch_stride_(p_.reads_text() ? 1 : row_stride(p_.patch_width())),
      places_(states.places.begin(), states.places.end()) {
  const auto room = p_.activations(k);
  u64 parts = 0, scratch = 0;
  const u32 codes = m.codes();
  for (auto& l : layouts_) l.resize(codes);
  m.each_code([&](u32 index, const code& c) {
    for (u32 n = 0; n < c.ops.size(); ++n) scratch = std::max(scratch, m.steps[index][n].scratch(c.ops[n].p, k.chunk));
    const u32 rows = index == codes - 1 ? k.logit_rows : k.chunk;
    layouts_[0][index] = place_registers(c, form::decode, rows < decode_rows ? rows : decode_rows);
    layouts_[1][index] = place_registers(c, form::prefill, rows);
    for (const auto& i : c.ops) {
      if (attends(i.op)) {
        const auto& p = i.p.as<attention_params>();
        parts = std::max(parts,
                         attend_parts(p, m.cache().part_floats(p.shape.head_dim),
                                      rows < decode_rows ? rows : decode_rows, k.context));
        heads_ = std::max(heads_, p.shape.kv_heads);
      }
      if (const turned_head of = turned(i.p); of.rope)
        ropes_.add(*of.rope, of.head_dim, p_.is_tower ? 0 : k.context, slides_ || turns_by_image_ ? k.chunk : 0);
    }
  });
  per_thread_bytes_ = align_up(room.per_thread);
  thread_bytes_ = per_thread_bytes_ + align_up(scratch) + 4096;
  memory_ = arena(room.stream + room.layer_inputs + room.scratch + align_up(parts) + thread_bytes_ * threads +
                      2 * pass_rows::bytes(k.chunk) +
                      (p_.is_tower ? room.ids + image_cache::bytes(ephemeral_block(), k.chunk) : 0) +
                      (sees_images_ ? align_up(k.chunk * sizeof(float*)) + align_up(k.chunk * sizeof(u32)) : 0),
                  huge_pages);
  stream_ = memory_.take(room.stream);
  layer_inputs_ = memory_.take(room.layer_inputs);
  shared_ = memory_.take(room.scratch);
  parts_ = reinterpret_cast<float*>(memory_.take(align_up(parts)));
  threads_ = memory_.take(thread_bytes_ * threads);
  rows_ = pass_rows(memory_, k.chunk), last_rows_ = pass_rows(memory_, k.chunk);
  if (sees_images_) features_ = memory_.take<const float*>(k.chunk), visible_ = memory_.take<u32>(k.chunk);
  if (p_.is_tower) {
    patches_ = memory_.take(room.ids);
    image_ = image_cache(memory_, ephemeral_block(), k.chunk);
  }
}

CKE_ONCE work workspace::prepare(const code& c, u32 index, form f, const instruction& i, const pass& now, u32 thread,
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
  if (sees_images_) w.features = features_ + now.skip, w.visible = visible_ + now.skip;
  if (p_.is_tower) {
    if (i.state != absent) w.kv = {0, head_block(i.p), 1, false};
    w.positions = now.positions;
  } else {
    if (i.state != absent) w.kv = places_[state];
  }
  w.parts = parts_;
  if (const turned_head of = turned(i.p); of.rope)
    w.rope = ropes_.find(*of.rope, of.head_dim), w.rope.beyond += now.skip;
  return w;
}

CKE_ONCE view workspace::logits(form f) const {
  const code& c = *p_.footer;
  return at(c, layouts_[f == form::prefill].back(), static_cast<reg>(c.regs.size() - 1), {}, 0, 0);
}

CKE_ONCE pass workspace::last_rows(u32 first) {
  last_rows_.take(rows_, first);
  pass p = last_rows_.all();
  p.skip = first;
  return p;
}
CKE_ONCE void workspace::add(std::span<const u32> ids, const sequence_state& s, const image_track* track) {
  const u32 first = rows_.tokens(), pad = p_.scattered().pad;
  const bool turned = turns_by_image_ && track && !track->empty();
  if (slides_)
    for (u32 t = 0; t < ids.size(); ++t)
      if (const u32 position = s.position() + t; position >= capacity_.context) ropes_.turn(first + t, position);
  rows_.add(ids, s.position(), s.pages(), s.pages(true), turned);
  if (sees_images_)
    for (u32 t = 0; t < ids.size(); ++t) {
      const u32 row = first + t, index = s.position() + t;
      const auto facts = track ? track->facts(index) : image_track::row_facts{{}, nullptr, index + 1};
      features_[row] = facts.features, visible_[row] = facts.end;
      if (facts.features) rows_.replace_id(row, pad);
      if (turned) ropes_.turn(row, facts.at);
    }
}
CKE_ONCE pass workspace::add_image(patch_grid g, function_ref<void(patch_place, float*)> patch) {
  const bool reads_text = p_.reads_text();
  rows_.clear();
  rows_.add(g.patches(), 0, image_.pages(), image_.pages());
  pass p = rows_.all();
  if (order_.window > 0) {
    last_rows_.clear();
    while (last_rows_.tokens() < p.tokens) {  // the windows are runs of rows
      const u32 first = last_rows_.tokens();
      last_rows_.add(order_.window_of(g, first).size.patches(), first, image_.pages(), image_.pages());
    }
    p.windows = last_rows_.parts();
  }
  for (u32 t = 0; t < p.tokens; ++t) {
    const patch_place at = order_.place_of(g, t);
    ropes_.turn(t, {0, at.y, at.x});
    float* const to = reinterpret_cast<float*>(patches_) + u64{t} * patch_stride_;
    patch(at, to);
    if (reads_text) {
      const u32 id = static_cast<u32>(*to);
      std::memcpy(to, &id, sizeof id);
    }
  }
  for (const instruction& i : p_.header->ops)
    if (i.op == opcode::learned_positions) p.positions = table_places_.of(i.p.as<positions_params>(), g, order_);
  return p;
}

// Bytes of a block of keys and values of a kv head, and of all heads of a layer.
CKE_ONCE u64 workspace::head_block(const params& p) const {
  const u32 head_dim = p.kind() == kind_of<kv_store_params> ? p.get<kv_store_params>().head_dim
                                                            : p.as<attention_params>().shape.head_dim;
  return m_.cache().block_bytes(head_dim);
}
CKE_ONCE u64 workspace::ephemeral_block() const {
  u64 most = 0;
  m_.each_code([&](u32, const code& c) {
    for (const auto& i : c.ops)
      if (i.op == opcode::kv_store) most = std::max(most, head_units(i.p) * head_block(i.p));
  });
  return most;
}
CKE_ONCE view workspace::at(const code& c, const graph::layout& l, reg r, const pass& now, u32 thread,
                            u32 layer) const {
  const value& v = c.regs[r];
  const u32 stride = row_stride(v.width);
  if (p_.is_tower && r == token_ids) return {patches_, p_.patch_width(), patch_stride_, dtype::f32};
  if (p_.is_tower && r == tapped) {
    const u32 tap = p_.taps_before(layer), all = row_stride(beside_width_);
    return {layer_inputs_ + u64{tap} * v.width * sizeof(float), v.width, all, v.as};
  }
  if (r == token_ids) return {reinterpret_cast<std::byte*>(const_cast<u32*>(now.ids)), 1, 1, dtype::f32};
  if (r == stream) return {stream_ + u64{now.skip} * stride * sizeof(float), v.width, stride, v.as};
  if (r == layer_inputs)
    return {layer_inputs_ + (u64{now.skip} * row_stride(beside_width_) + u64{layer} * v.width) * sizeof(float), v.width,
            row_stride(beside_width_), v.as};
  std::byte* base = l.is_per_thread(r) ? threads_ + thread * thread_bytes_ : shared_;
  const u64 left_out = now.within && v.as == dtype::f32 ? u64{now.skip} * v.rows * stride * sizeof(float) : 0;
  return {base + l.offset[r] + left_out, v.width, stride, v.as};
}

}  // namespace cke::runtime
CKE_COLD_END

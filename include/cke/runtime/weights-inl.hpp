// SPDX-License-Identifier: MIT
// weights-inl.hpp: packing the weights of weights.hpp.
#pragma once

#include <algorithm>
#include <cmath>

#include "weight_tensors.hpp"
#include "weights.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

CKE_ONCE weights::weights(const packed_layout& p, const tensor_source& from, std::string_view file, naming as,
                          std::span<const name_rule> names, team& threads, const progress_callback& progress,
                          bool huge_pages, const packed_units& own)
    : layout_(p), table_(u64{rows()} * max_slots) {
  weight_tensors tensors(*p.program, from, file, as, names);
  const u64 parameters = p.program->parameters();
  u64 room = 0, touched = 0, done = 0;
  plain_list<u32> next(rows()), unread(from.count());  // unread: weights of a tensor that are still to be packed
  for (const bool packing : {false, true}) {           // everything is checked before anything is packed
    if (packing) tensors.refuse_others(), memory_ = arena(room, huge_pages && !own.has, touched);
    layout_.program->for_each_weight([&](const weight& w) {
      const auto at = tensors.find(w);
      if (!packing) {
        for (const weight_tensor& t : at.from) ++unread[t.number];
        return void((room += layout_.room_for(w), touched += touched_of(w, own)));
      }
      std::byte* const to = memory_.data() + memory_.used();
      place_next(w, next, to);
      const auto drop = [&](u32 tensor, std::span<const std::byte> part) { from.drop(at.from[tensor].number, part); };
      memory_.take(at.was == change::transposed ? pack_transposed(at, to, threads, own)
                                                : pack(at, to, threads, own, drop));
      sizes_.push_back(static_cast<u64>(memory_.data() + memory_.used() - to));
      for (u32 t = 0; t < at.from.size(); ++t) {
        drop(t, at.from[t].bytes);
        if (--unread[at.from[t].number] == 0) from.copied(at.from[t].number);
      }
      done += w.slot.elements();
      if (progress) progress(done, parameters);
    });
  }
  packed_ = {memory_.data(), memory_.data() + memory_.used()};
  tie();
}

CKE_ONCE weights::weights(const packed_layout& p, const packed_weights& from, std::string_view file)
    : layout_(p), packed_(from.memory), table_(u64{rows()} * max_slots) {
  const auto refuse = [&](std::string_view what, std::string_view expected, std::string_view found) {
    throw Error(errc::malformed, file, what, expected, found);
  };
  if (reinterpret_cast<std::uintptr_t>(packed_.data()) % 64 != 0)
    refuse("packed weights", "memory that is aligned to 64 bytes", "another place");
  u64 used = 0;
  plain_list<u32> next(rows());
  layout_.program->for_each_weight([&](const weight& w) {
    if (sizes_.size() == from.sizes.size()) refuse("packed weights", "those of the model", "too few");
    const u64 size = from.sizes[sizes_.size()];
    if (!fits(used, size, packed_.size()) || !is_whole(w, packed_.subspan(used, size)))
      refuse(concat({"weight ", packed_name(w)}), "its bytes in packed form", concat({size, " others"}));
    place_next(w, next, packed_.data() + used);
    sizes_.push_back(size);
    used += size;
  });
  if (sizes_.size() != from.sizes.size() || used != packed_.size())
    refuse("packed weights", concat({used, " bytes of ", sizes_.size(), " weights"}),
           concat({packed_.size(), " bytes of ", from.sizes.size(), " weights"}));
  tie();
}

CKE_ONCE void weights::each(function_ref<void(const weight&, std::span<const std::byte>)> f) const {
  u64 at = 0, i = 0;
  layout_.program->for_each_weight([&](const weight& w) {
    f(w, packed_.subspan(at, sizes_[i]));
    at += sizes_[i++];
  });
}

// Numbers of the footer that are the header's: a tied head.
CKE_ONCE void weights::tie() {
  const u32 tied = layout_.program->tied_slot(), slots = layout_.program->unfused_footer->slots.size();
  if (tied == slots) return;
  const std::byte** const last = &table_[u64{rows() - 1} * max_slots];
  for (u32 k = slots - 1; k > tied; --k) last[k] = last[k - 1];
  last[tied] = table_[0];
}
CKE_ONCE void weights::place_next(const weight& w, plain_list<u32>& next, const std::byte* at) {
  const u32 row = w.where == place::header ? 0 : w.where == place::body ? w.layer + 1 : rows() - 1;
  table_[u64{row} * max_slots + next[row]++] = at;
}
CKE_ONCE bool weights::is_whole(const weight& w, std::span<const std::byte> bytes) const {
  if (!w.slot.quantisable) return bytes.size() == packed_layout::vector_bytes(w);
  return layout_.format(w.as).is_whole(bytes.data(), bytes.size(), units_of_slot(w.slot), w.slot.cols);
}

CKE_ONCE u64 weights::touched_of(const weight& w, const packed_units& own) const {
  if (!own.has || !w.slot.quantisable) return layout_.room_for(w);
  u64 count = 0;
  const u32 units = units_of_slot(w.slot);
  for (u32 u = 0; u < units; ++u) count += own(w, u);
  return (layout_.room_for(w) + units - 1) / units * count;
}

// Packs from a transposed copy.
CKE_ONCE u64 weights::pack_transposed(const weight_place& at, std::byte* to, team& threads,
                                      const packed_units& own) const {
  const u32 rows_in_group = at.w.slot.group ? at.w.slot.group : at.w.slot.rows,
            cols = at.w.slot.cols;  // of the model's matrix
  plain_list<float> turned(at.w.slot.elements()), row(at.columns.all);
  for (u32 g = 0; g < at.w.slot.rows / rows_in_group; ++g)
    for (u32 c = 0; c < cols; ++c) {
      at.from[0].read_row(u64{g} * at.rows.part + at.rows.first + c, at.columns.all, row.data());
      for (u32 r = 0; r < rows_in_group; ++r)
        turned[(u64{g} * rows_in_group + r) * cols + c] = row[at.columns.first + r];
    }
  const u32 all = at.w.slot.rows;
  const weight_tensor copy{dtype::f32, std::as_bytes(std::span(turned))};
  const weight_place plain{{{0, all, all, all}, {0, cols}, 0, change::none, 1, 0, all, cols}, at.w, {&copy, 1}};
  return pack(plain, to, threads, own, [](u32, std::span<const std::byte>) {});
}

// Hands parts of the file that were read to drop(), piece by piece, from any thread. Some formats read them twice.
// Returns the bytes of the packed weight.
CKE_ONCE u64 weights::pack(const weight_place& at, std::byte* to, team& threads, const packed_units& own,
                           function_ref<void(u32 tensor, std::span<const std::byte>)> drop) const {
  constexpr u64 kept_bytes = 8 << 20;  // bytes of a file that stay in memory after they were packed, over all threads
  const weight_slot& slot = at.w.slot;
  if (!slot.quantisable) {
    const dtype source = at.from[0].type;
    const u64 item = info(source).bytes;
    float* const vector = reinterpret_cast<float*>(to);
    for (u32 i = 0; i < slot.elements(); ++i) {  // taps are stored as [taps][channels]
      float& x = vector[i % slot.cols * slot.rows + i / slot.cols];
      kernels::to_f32(source, at.from[0].bytes.data() + at.row(i).row * item, 1, &x);
      if (at.was == change::plus_one) x -= 1;
      if (at.was == change::minus_exp) x = std::log(-x);
    }
    return packed_layout::vector_bytes(at.w);
  }
  const u32 group = slot.group ? slot.group : slot.rows, units = units_of_slot(slot);
  const auto row_bytes = [&](u32 tensor) { return bytes_of(at.from[tensor].type, slot.cols); };
  const u32 step = static_cast<u32>(kept_bytes / threads.size() / (unit_rows * row_bytes(0))) + 1;
  const auto tensor_of_unit = [&](u32 unit) { return at.row(rows_of_unit(group, unit).first).tensor; };
  // Other weights' rows between these are dropped as well; their pages are read again when needed.
  const auto drop_units = [&](u32 first, u32 last) {
    const u32 tensor = tensor_of_unit(first);
    const auto place = [&](u32 row) {
      const u32 part = at.from.size() > 1 ? 0 : row / at.rows.ours;
      return (u64{part} * at.rows.part + at.rows.first + row % at.rows.ours) * row_bytes(tensor);
    };
    const row_range r = rows_of_unit(group, last);
    const u64 begin = place(rows_of_unit(group, first).first), end = place(r.first + r.count - 1) + row_bytes(tensor);
    drop(tensor, at.from[tensor].bytes.subspan(begin, end - begin));
  };
  const auto is_scaled = [](const weight_tensor& t) { return t.type == dtype::f8_e4m3; };  // packed from copies in f32
  const bool some = std::any_of(at.from.begin(), at.from.end(), is_scaled);
  plain_list<float> copies(some ? u64{threads.size()} * unit_rows * slot.cols : 0);
  return layout_.format(at.w.as).pack(to, units, slot.cols, [&](kernels::unit_packer pack_unit) {
    threads.run([&](u32 thread) noexcept {
      u32 first = 0, next = 0;  // consecutive units that this thread has packed and not dropped
      const auto drop_packed = [&] {
        if (first < next) drop_units(first, next - 1);
        first = next;
      };
      threads.share(thread, units, [&](u32 u) {
        if (!own(at.w, u)) return;
        const u32 tensor = tensor_of_unit(u);
        if (u != next || (first < next && tensor != tensor_of_unit(first))) drop_packed(), first = u;
        const row_range r = rows_of_unit(group, u);
        const std::byte* rows_of_u[unit_rows]{};
        const weight_tensor& t = at.from[tensor];
        for (u32 i = 0; i < r.count; ++i) {
          const u32 row = at.row(r.first + i).row;
          rows_of_u[i] = t.bytes.data() + row * row_bytes(tensor);
          if (!is_scaled(t)) continue;
          float* const copy = &copies[(u64{thread} * unit_rows + i) * slot.cols];
          t.read_row(row, slot.cols, copy);
          rows_of_u[i] = reinterpret_cast<const std::byte*>(copy);
        }
        pack_unit(u, {r.count, rows_of_u, is_scaled(t) ? dtype::f32 : t.type});
        next = u + 1;
        if (next - first == step) drop_packed();
      });
      drop_packed();
    });
  });
}

}  // namespace cke::runtime
CKE_COLD_END

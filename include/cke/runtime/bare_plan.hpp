// SPDX-License-Identifier: MIT
// bare_plan.hpp: what a model without an operating system takes: the bytes of its image and of its memory.
#pragma once

#include "../kernels/attention/rope.hpp"
#include "unrolled_plan.hpp"

namespace cke::runtime {

// An image is a header, the packed weights, and for each rope cos and sin [context][rope_width / 2]: all that a model
// reads and never writes. It begins at a multiple of 64 bytes, little-endian.
struct bare_header {
  static constexpr u64 right_magic = 0x455241422d454b43;  // "CKE-BARE"
  u64 magic{}, bytes{};                                   // bytes: of the image
  u64 model{};                                            // bare_plan::fingerprint
  u64 sum{};                                              // XXH64 of what follows the header
  u64 zeros[4]{};
};
static_assert(sizeof(bare_header) == 64);

// One sequence of at most Context positions, a row at a time.
template <class P, dtype KV, class Isa, u32 Context> struct bare_plan {
  static_assert(Context >= 1 && Context <= most_positions, "cke: bare: a context is of 1 to most_positions");
  using straight = unrolled_plan<P, KV, Isa, 1>;
  static_assert(straight::sized,
                "cke: bare: the size of BF16 weights depends on their numbers; choose another format, "
                "or isa::scalar");
  using layout = state_layout<P, KV, Isa>;

  // ---- the image

  static constexpr u64 weight_bytes = [] {
    u64 all = 0;
    P::for_each_weight([&](const weight& w) { all += straight::packed::room_for(w); });
    return all;
  }();
  static constexpr u32 ropes = straight::ropes.all.size();
  // Numbers of a row of cos, and of sin.
  static constexpr u32 rope_row(u32 rope) {
    const turned_head& t = straight::ropes.all[rope];
    return kernels::rope_width(*t.rope, t.head_dim) / 2;
  }
  // Of cos, and of sin.
  static constexpr u64 table_bytes(u32 rope) { return align_up(u64{4} * Context * rope_row(rope)); }
  // From the beginning of the image.
  static constexpr u64 table_offset(u32 rope) {
    u64 at = sizeof(bare_header) + weight_bytes;
    for (u32 r = 0; r < rope; ++r) at += 2 * table_bytes(r);
    return at;
  }
  static constexpr u64 image_bytes = table_offset(ropes);

  // Tells apart images that another model, format, instruction set or context reads in another way.
  static constexpr u64 fingerprint = [] {
    u64 sum = 0xcbf29ce484222325;
    const auto add = [&](u64 x) {
      for (u32 i = 0; i < 8; ++i) sum = (sum ^ (x >> 8 * i & 255)) * 0x100000001b3;
    };
    add(kernels::packed_layout), add(Context), add(ropes);
    for (const char c : Isa::name) add(static_cast<u8>(c));
    P::for_each_weight([&](const weight& w) {
      add(static_cast<u64>(w.where)), add(static_cast<u64>(w.slot.is)), add(w.slot.nth), add(w.slot.bias);
      add(w.slot.rows), add(w.slot.cols), add(w.slot.group), add(static_cast<u64>(w.as));
    });
    P::for_each_op([&](place, u32, const instruction& i, const code&) { add(static_cast<u64>(i.op)); });
    return sum;
  }();

  // ---- the memory

  static constexpr page_plan pages = layout::plan;
  static constexpr u32 page_count = pages.pages(Context);
  // Pages that keep their transient part: page i lies in slot i % transient_slots.
  static constexpr u32 transient_slots =
      layout::has_transient ? (page_count < pages.in_sight(1) ? page_count : pages.in_sight(1)) : 0;

  static constexpr auto activations = P::activations({Context, 1, 1});
  struct places {
    u64 stream, layer_inputs, shared, own, scratch, persistent, transient, blocks, total;
  };
  static constexpr places at = [] {
    places p{};
    u64 next = 0;
    const auto take = [&](u64 bytes) {
      const u64 begin = next;
      next += align_up(bytes);
      return begin;
    };
    p.stream = take(activations.stream), p.layer_inputs = take(activations.layer_inputs);
    p.shared = take(activations.scratch), p.own = take(activations.per_thread);
    p.scratch = take(scratch_of_program<P, KV, Isa>(1));
    p.persistent = take(page_count * pages.bytes(pages.persistent));
    p.transient = take(transient_slots * pages.bytes(pages.transient));
    p.blocks = take(u64{2} * page_count * pages.blocks * sizeof(std::byte*));
    p.total = next;
    return p;
  }();
};

}  // namespace cke::runtime

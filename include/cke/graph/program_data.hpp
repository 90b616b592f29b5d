// SPDX-License-Identifier: MIT
// program_data.hpp: a program as data: codes, layers and formats, and what follows from them. Code that reads a program
// from here is compiled once, not once for each model.
#pragma once

#include "fuse.hpp"
#include "page_plan.hpp"
#include "program_entries.hpp"

CKE_COMPILED_ONCE
namespace cke::graph {

struct program_data {
  family_facts family{};
  bool fused{}, is_tower{};
  u32 layers{}, dim{};
  u32 kind_count{}, body_count{};      // of kinds; of variants
  const u8 *kind_of{}, *variant_of{};  // [layers]
  const code* unfused{};               // [kinds]
  const variant* variants{};           // [variants]
  const code* const* bodies{};         // [variants]: what is executed
  const code *header{}, *footer{}, *unfused_header{}, *unfused_footer{};
  signature header_formats{}, footer_formats{};
  fusion_stats fusion{};  // summed over all layers

  constexpr const code& body_of(u32 layer) const { return *bodies[variant_of[layer]]; }
  constexpr const code& unfused_of(u32 layer) const { return unfused[kind_of[layer]]; }
  // The code that a weight's step is in.
  constexpr const code& code_of(const weight& w) const {
    return w.where == place::header ? *header : w.where == place::footer ? *footer : body_of(w.layer);
  }

  // f(place, layer, instruction, code) for every step of every layer, in order.
  template <class F> constexpr void for_each_op(F f) const {
    for (const auto& i : header->ops) f(place::header, 0u, i, *header);
    for (u32 l = 0; l < layers; ++l)
      for (const auto& i : body_of(l).ops) f(place::body, l, i, body_of(l));
    for (const auto& i : footer->ops) f(place::footer, 0u, i, *footer);
  }
  constexpr u32 count(opcode op = opcode::none) const {
    u32 n = 0;
    for_each_op([&](place, u32, const instruction& i, const code&) { n += op == opcode::none || i.op == op; });
    return n;
  }
  constexpr u32 barriers(form f) const {
    u32 n = phases_of(*header, f).barriers() + phases_of(*footer, f).barriers();
    for (u32 l = 0; l < layers; ++l) n += phases_of(body_of(l), f).barriers();
    return n;
  }

  // Every tensor of the checkpoint, in plan order. Tied slots are not visited.
  template <class F> constexpr u64 for_each_weight(F f) const {
    u64 offset = 0;
    auto visit = [&](place p, u32 layer, const code& c, const signature& s) {
      for (u32 i = 0; i < c.slots.size(); ++i) {
        if (c.slots[i].tied) continue;
        const u64 bytes = bytes_of(s[i], c.slots[i].elements());
        f(weight{p, layer, c.slots[i], s[i], offset, bytes});
        offset += align_up(bytes);
      }
    };
    visit(place::header, 0, *unfused_header, header_formats);
    for (u32 l = 0; l < layers; ++l) visit(place::body, l, unfused_of(l), variants[variant_of[l]].formats);
    visit(place::footer, 0, *unfused_footer, footer_formats);
    return offset;
  }
  // Bytes in the encodings of files; packing may need less.
  constexpr u64 weight_bytes() const {
    return for_each_weight([](const weight&) {});
  }
  constexpr u64 parameters() const {
    u64 n = 0;
    for_each_weight([&](const weight& w) { n += w.slot.elements(); });
    return n;
  }
  // The slot of the footer whose matrix is the embedding; none: the footer's number of slots.
  constexpr u32 tied_slot() const {
    u32 i = 0;
    while (i < unfused_footer->slots.size() && !unfused_footer->slots[i].tied) ++i;
    return i;
  }
  constexpr bool tied() const { return tied_slot() < unfused_footer->slots.size(); }

  constexpr const value& output() const { return footer->regs[footer->regs.size() - 1]; }
  constexpr u32 vocab() const { return output().width; }

  // A row whose logits are not requested ends after the last state that it stores: in this layer, in prefill form
  // before this phase. Later layers have no states, or share those of earlier ones.
  struct end_of_row {
    u32 layer, phase;
  };
  constexpr end_of_row row_end() const {
    u32 l = layers - 1;
    const auto leaves = [](const code& c) {
      for (const auto& i : c.ops)
        if (stores(i)) return true;
      return false;
    };
    while (l > 0 && !leaves(body_of(l))) --l;
    return end_of_row{l, phase_after_stores(body_of(l))};
  }

  // Visits states in layer order; a shared state has its owner's place. Returns the plan of a page: one key block, or
  // enough for its caches to take no less than its recurrent states, which it holds once; at most 1024 positions,
  // because a rewind may have to recompute that many.
  template <class F> constexpr page_plan for_each_state(dtype kv, F f) const {
    struct owned {
      const state_shape* shape;
      u32 layer;
      u64 offset;
    };
    small_vector<owned, 16> last;  // of each shape
    page_plan p;
    u32 id = 0;
    for (u32 l = 0; l < layers; ++l)
      for (const auto& shape : unfused_of(l).states) {
        if (shape.life == lifecycle::step_ephemeral) continue;
        u32 i = 0;
        while (i < last.size() && !last[i].shape->like(shape)) ++i;
        if (i == last.size()) last.push({});
        const bool recurs = is_recurrent(shape.what), transient = recurs || shape.rows != everything;
        u64& next = recurs ? p.transient.recurrent : transient ? p.transient.caches : p.persistent.caches;
        if (!shape.shared) last[i] = {&shape, l, next};
        // dims are padded to whole blocks of q8_0 and whole units, whatever the type
        const u64 numbers = u64{recurs ? shape.rows : key_block} * shape.heads * align_up(shape.head_dim, 32);
        const u64 bytes = recurs ? numbers * sizeof(float) : 2 * bytes_of(kv, numbers);
        f(state_descriptor{id++, shape.what, shape.life, transient, l, last[i].layer, shape.heads, shape.head_dim,
                           shape.rows, last[i].offset, bytes});
        next += shape.shared ? 0 : align_up(bytes);
        const u32 before = recurs ? 1 : transient ? shape.rows - 1 : 0;
        p.reach = before > p.reach ? before : p.reach, p.recurrent |= recurs;
      }
    while (p.blocks < 8 && p.transient.recurrent > p.blocks * (p.persistent.caches + p.transient.caches)) p.blocks *= 2;
    return p;
  }
  constexpr page_plan page(dtype kv) const {
    return for_each_state(kv, [](const state_descriptor&) {});
  }
  // The first layer with persistent states; `layers`: none.
  constexpr u32 first_persistent() const {
    u32 first = layers;
    for_each_state(dtype::f32,
                   [&](const state_descriptor& d) { first = !d.transient && d.layer < first ? d.layer : first; });
    return first;
  }
  // Whether a rope's angles depend on the length of the context.
  constexpr bool turns_by_context() const {
    bool any = false;
    for_each_op([&](place, u32, const instruction& i, const code&) {
      const rotary* const r = turned(i.p).rope;
      any |= r && (r->rule == rope_scaling::dynamic || r->rule == rope_scaling::longrope);
    });
    return any;
  }

  // Whether a sequence can go on past its context, as it would in a longer one.
  constexpr bool slides() const { return first_persistent() == layers && !turns_by_context(); }

  // A tower reads rows of floats, patches, where a network reads ids; or it reads all ids of a text at once.
  constexpr u32 patch_width() const { return unfused_header->regs[token_ids].width; }
  constexpr bool reads_text() const { return is_tower && patch_width() == 1; }
  // The side of the square of patches that a row of features stands for; a text is a line of ids.
  constexpr u32 merge_side() const { return reads_text() ? 1 : whole_root(output().tokens); }
  // The side of the windows of patches that some of its layers see; 0: none.
  constexpr u32 window_side() const {
    u32 side = 0;
    for_each_op([&](place, u32, const instruction& i, const code&) {
      if (const u32 window = window_of_patches(i.p)) side = window;
    });
    return side;
  }

  // Rows of images in a text: none, or features with `parts` more for the first layers, which all of these add.
  constexpr scatter_params scattered() const {
    scatter_params p{};
    for (const instruction& i : unfused_header->ops)
      if (i.op == opcode::scatter) p = i.p.as<scatter_params>();
    return p;
  }
  constexpr bool sees_images() const { return scattered().cols > 0; }
  constexpr u32 image_width() const { return scattered().cols * (1 + scattered().parts); }
  // Whether rope turns rows of images by their place; the angles of a sequence with images are then those of its rows.
  constexpr bool turns_by_image() const {
    bool any = false;
    for_each_op([&](place, u32, const instruction& i, const code&) {
      const rotary* const r = turned(i.p).rope;
      any |= r && r->section_t + r->section_h + r->section_w > 0;
    });
    return any && sees_images();
  }
  // Whether all rows of an image must be in one pass, since each of them sees all.
  constexpr bool images_are_whole() const {
    bool any = false;
    for_each_op([&](place, u32, const instruction& i, const code&) {
      any |= (i.op == opcode::attend || i.op == opcode::attend_quantize) && i.p.as<attention_params>().sees_image;
    });
    return any && sees_images();
  }

  // The output of a layer's deepstack letter; its width is 0 where there is none.
  constexpr const value& tap_of(u32 layer) const { return unfused_of(layer).regs[tapped]; }
  // How many layers before this one have a deepstack letter.
  constexpr u32 taps_before(u32 layer) const {
    u32 n = 0;
    for (u32 l = 0; l < layer; ++l) n += is_tower && tap_of(l).width > 0;
    return n;
  }
  // Numbers of a row of register 2: layer inputs, or taps.
  constexpr u32 beside_width() const {
    if (!is_tower) return unfused_header->regs[layer_inputs].width;
    u32 width = 0;
    for (u32 l = 0; l < layers; ++l) width += tap_of(l).width;
    return width;
  }

  // Activations: the stream, the ids (of a tower: the patches), the layer inputs, and one scratch area that all blocks
  // share.
  struct memory {
    u64 stream, ids, layer_inputs, scratch, per_thread, total;  // per_thread: of each thread, in decode form
  };
  constexpr memory activations(capacity k) const {
    const u32 beside = beside_width();
    memory m{align_up(u64{4} * k.chunk * row_stride(dim)),
             align_up(u64{4} * k.chunk * (is_tower ? row_stride(patch_width()) : 1)),
             beside ? align_up(u64{4} * k.chunk * row_stride(beside)) : 0,
             0,
             0,
             0};
    auto room = [&](const code& c, u32 rows) {
      for (const form f : {form::decode, form::prefill}) {
        const u32 n = f == form::decode && rows > decode_rows ? decode_rows : rows;
        if (f == form::prefill && rows <= decode_rows) continue;
        const layout l = place_registers(c, f, n);
        m.scratch = l.shared > m.scratch ? l.shared : m.scratch;
        m.per_thread = l.per_thread > m.per_thread ? l.per_thread : m.per_thread;
      }
    };
    room(*header, k.chunk);
    for (u32 v = 0; v < body_count; ++v) room(*bodies[v], k.chunk);
    room(*footer, k.logit_rows);
    m.total = m.stream + m.ids + m.layer_inputs + m.scratch + m.per_thread;
    return m;
  }
};

}  // namespace cke::graph

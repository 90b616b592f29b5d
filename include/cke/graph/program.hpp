// SPDX-License-Identifier: MIT
// program.hpp: a type list and a format policy become a Program: kinds, variants, code, weights, states.
#pragma once

#include <array>

#include "block_checks.hpp"
#include "format_policy.hpp"
#include "fuse.hpp"
#include "lower_experts.hpp"
#include "lower_latent.hpp"
#include "lower_recurrent.hpp"
#include "lower_tower.hpp"
#include "page_plan.hpp"

namespace cke::graph {

template <class... As, class... Bs> list<As..., Bs...> operator+(list<As...>, list<Bs...>);

template <class Block, signature S> inline constexpr fused_code fused_block = fuse(lowered_block<Block, S>);
template <class Header, signature S> inline constexpr code lowered_header = lower_header<Header>(S);

struct weight {
  place where{};
  u32 layer{};
  weight_slot slot{};
  dtype as{};
  u64 offset{}, bytes{};  // tight, in the format's own blocks
};
// ADR 0001's StateDescriptor: a layer's k and v of a key block, or its recurrent state.
struct state_descriptor {
  u32 id{};
  keeps_what what{};
  lifecycle life{};
  bool transient{};                                   // otherwise persistent; see page_plan
  u32 layer{}, owner{}, heads{}, head_dim{}, rows{};  // rows: positions that a query sees; recurrent: rows of the state
  u64 offset{}, bytes{};  // among the caches of its part of a page, or among its recurrent states
  u16 align = 64;
  bool zero_init = true;
};

struct variant {
  u8 kind{};
  signature formats{};
};

// Takes a model apart: letters before the stacks, stacks, letters after them.
template <class Parts> struct anatomy;
template <class... Ps>
  requires(stacked<Ps> || ...)
struct anatomy<list<Ps...>> {
  static constexpr bool is_stack[sizeof...(Ps)]{stacked<Ps>...};
  static constexpr u32 count_stacks = (u32{stacked<Ps>} + ...);
  static constexpr u32 first = [] {
    u32 i = 0;
    while (!is_stack[i]) ++i;
    return i;
  }();
  static constexpr u32 last = first + count_stacks;
  template <u32 From, std::size_t... I> static chain<at<From + I, list<Ps...>>...> part(std::index_sequence<I...>);
  template <u32 From, std::size_t... I> static list<at<From + I, list<Ps...>>...> slice(std::index_sequence<I...>);
  using header = decltype(part<0>(std::make_index_sequence<first>{}));
  using footer = decltype(part<last>(std::make_index_sequence<sizeof...(Ps) - last>{}));
  using stacks = decltype(slice<first>(std::make_index_sequence<count_stacks>{}));
};

// The smallest model stands in for a list without a stack, so that the error is the only one.
template <class... Ps>
struct anatomy<list<Ps...>>
    : anatomy<list<embedding<1, 1>, stack<1, block<residual<rms_norm<1, 1>>>>, head<1, 1, false>>> {
  static_assert(sizeof...(Ps) == 0, "cke: model: no stack of layers; write stack<N, block<...>>");
};

// All layers of all stacks: the list of kinds, and for each layer the first equal kind.
template <class Stacks> struct census;
template <class... Ss> struct census<list<Ss...>> {
  using kinds = decltype((typename Ss::kinds{} + ...));
  static constexpr u32 layers = (Ss::layers + ...);
  template <class T, class... Ks> static constexpr u8 first_same(list<Ks...>) {
    constexpr bool same[]{std::is_same_v<T, Ks>...};
    u8 i = 0;
    while (!same[i]) ++i;
    return i;
  }
  template <class... Ks> static constexpr std::array<u8, layers> kinds_of_layers(list<Ks...>) {
    constexpr u8 canonical[]{first_same<Ks>(list<Ks...>{})...};
    std::array<u8, layers> out{};
    u32 layer = 0, base = 0;
    auto add = [&](auto kind, u32 n, u32 period) {
      for (u32 i = 0; i < n; ++i) out[layer++] = canonical[base + kind(i)];
      base += period;
    };
    (add([](u32 i) { return Ss::kind(i); }, Ss::layers, u32{length<typename Ss::kinds>}), ...);
    return out;
  }
  static constexpr auto kind_of = kinds_of_layers(kinds{});
};

// Fused: whether the fusion rules are applied; the unfused program computes the same result.
template <class Model, class Formats, bool Fused = true>
struct program : private checks::code_holds<census<typename anatomy<typename Model::parts>::stacks>,
                                            typename anatomy<typename Model::parts>::footer> {
  using model_list = Model;
  static constexpr bool fused = Fused;
  using parts = anatomy<typename Model::parts>;
  using header = typename parts::header;
  using footer = typename parts::footer;
  using layer_census = census<typename parts::stacks>;
  using kinds = typename layer_census::kinds;
  static constexpr u32 layers = layer_census::layers;
  static constexpr auto kind_of = layer_census::kind_of;

  // Slots do not depend on formats, so one lowering per kind finds them.
  template <class... Ks> static constexpr std::array<code, sizeof...(Ks)> unfused_codes(list<Ks...>) {
    return {lowered_block<Ks, signature{}>...};
  }
  static constexpr auto unfused = unfused_codes(kinds{});
  static constexpr const code& unfused_header() { return lowered_header<header, signature{}>; }
  static constexpr const code& unfused_footer() { return lowered_block<footer, signature{}>; }

  static constexpr bool tied = [] {
    for (const auto& s : unfused_footer().slots)
      if (s.tied) return true;
    return false;
  }();
  static constexpr signature choose(const code& c, u32 layer) {
    signature s;
    for (u32 i = 0; i < c.slots.size(); ++i)  // a tied matrix has the embedding's format, whatever the policy
      s.set(i, Formats::of(c.slots[i].tied ? unfused_header().slots[0] : c.slots[i], layer, layers, tied));
    return s;
  }
  static constexpr signature header_formats = choose(unfused_header(), 0), footer_formats = choose(unfused_footer(), 0);

  // Layers with equal kind and equal formats are one variant: one instantiation.
  struct variant_table {
    small_vector<variant, 32> list;
    std::array<u8, layers> of{};
  };
  static constexpr variant_table variants = [] {
    variant_table t;
    for (u32 l = 0; l < layers; ++l) {
      const variant v{kind_of[l], choose(unfused[kind_of[l]], l)};
      u32 i = 0;
      while (i < t.list.size() && !(t.list[i].kind == v.kind && t.list[i].formats == v.formats)) ++i;
      if (i == t.list.size()) t.list.push(v);
      t.of[l] = static_cast<u8>(i);
    }
    return t;
  }();

  // The executed code: fused or not, with its stores. One constant per variant, header and footer.
  template <class Block, signature S> static constexpr code executable =
      store_before_attend(Fused ? fused_block<Block, S>.c : lowered_block<Block, S>);
  template <u32 V> static constexpr const code& body() {
    return executable<at<variants.list[V].kind, kinds>, variants.list[V].formats>;
  }
  static constexpr u32 body_count = variants.list.size();
  static constexpr std::array<const code*, body_count> bodies = []<std::size_t... V>(std::index_sequence<V...>) {
    return std::array<const code*, body_count>{&body<V>()...};
  }(std::make_index_sequence<body_count>{});
  static constexpr const code& header_code() { return lowered_header<header, header_formats>; }
  static constexpr const code& footer_code() { return executable<footer, footer_formats>; }

  // f(place, layer, instruction, code) for every step of every layer, in order.
  template <class F> static constexpr void for_each_op(F f) {
    for (const auto& i : header_code().ops) f(place::header, 0u, i, header_code());
    for (u32 l = 0; l < layers; ++l)
      for (const auto& i : bodies[variants.of[l]]->ops) f(place::body, l, i, *bodies[variants.of[l]]);
    for (const auto& i : footer_code().ops) f(place::footer, 0u, i, footer_code());
  }
  static constexpr u32 count(opcode op = opcode::none) {
    u32 n = 0;
    for_each_op([&](place, u32, const instruction& i, const code&) { n += op == opcode::none || i.op == op; });
    return n;
  }
  static constexpr u32 barriers(form f) {
    u32 n = phases_of(header_code(), f).barriers() + phases_of(footer_code(), f).barriers();
    for (u32 l = 0; l < layers; ++l) n += phases_of(*bodies[variants.of[l]], f).barriers();
    return n;
  }

  // Every tensor of the checkpoint, in plan order. Tied slots are not visited.
  template <class F> static constexpr u64 for_each_weight(F f) {
    u64 offset = 0;
    auto visit = [&](place p, u32 layer, const code& c, const signature& s) {
      for (u32 i = 0; i < c.slots.size(); ++i) {
        if (c.slots[i].tied) continue;
        const u64 bytes = bytes_of(s[i], c.slots[i].elements());
        f(weight{p, layer, c.slots[i], s[i], offset, bytes});
        offset += align_up(bytes);
      }
    };
    visit(place::header, 0, unfused_header(), header_formats);
    for (u32 l = 0; l < layers; ++l) visit(place::body, l, unfused[kind_of[l]], variants.list[variants.of[l]].formats);
    visit(place::footer, 0, unfused_footer(), footer_formats);
    return offset;
  }
  // Bytes in the encodings of files; packing may need less.
  static constexpr u64 weight_bytes = for_each_weight([](const weight&) {});
  static constexpr u64 parameters = [] {
    u64 n = 0;
    for_each_weight([&](const weight& w) { n += w.slot.elements(); });
    return n;
  }();

  // One bit per format that some matrix has: kernels of other formats are not compiled.
  static constexpr u64 stored_types = [] {
    u64 bits = 0;
    for_each_weight([&](const weight& w) { bits |= u64{w.slot.quantisable} << static_cast<u8>(w.as); });
    return bits;
  }();

  // A row whose logits are not requested ends after the last state that it stores: in this layer, in prefill form
  // before this phase. Later layers have no states, or share those of earlier ones.
  struct end_of_row {
    u32 layer, phase;
  };
  static constexpr end_of_row row_end = [] {
    u32 l = layers - 1;
    const auto leaves = [](const code& c) {
      for (const auto& i : c.ops)
        if (stores(i)) return true;
      return false;
    };
    while (l > 0 && !leaves(*bodies[variants.of[l]])) --l;
    return end_of_row{l, phase_after_stores(*bodies[variants.of[l]])};
  }();

  static constexpr u32 vocab = footer_code().regs[footer_code().regs.size() - 1].width;
  static constexpr u32 dim = footer::in;

  // Visits states in layer order; a shared state has its owner's place. Returns the plan of a page: one key block, or
  // enough for its caches to take no less than its recurrent states, which it holds once; at most 1024 positions,
  // because a rewind may have to recompute that many.
  template <class F> static constexpr page_plan for_each_state(dtype kv, F f) {
    struct owned {
      const state_shape* shape;
      u32 layer;
      u64 offset;
    };
    small_vector<owned, 16> last;  // of each shape
    page_plan p;
    u32 id = 0;
    for (u32 l = 0; l < layers; ++l)
      for (const auto& shape : unfused[kind_of[l]].states) {
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
  static constexpr page_plan page(dtype kv) {
    return for_each_state(kv, [](const state_descriptor&) {});
  }
  // The most bytes that a sequence takes.
  static constexpr u64 state_bytes(capacity k, dtype kv) { return page(kv).bytes(k); }
  // Whether a position's state is known only by computing all positions before it.
  static constexpr bool recurrent = page(dtype::f32).recurrent;
  // The first layer with persistent states; `layers`: none.
  static constexpr u32 first_persistent = [] {
    u32 first = layers;
    for_each_state(dtype::f32,
                   [&](const state_descriptor& d) { first = !d.transient && d.layer < first ? d.layer : first; });
    return first;
  }();
  // Whether a rope's angles depend on the length of the context.
  static constexpr bool turns_by_context = [] {
    bool any = false;
    for_each_op([&](place, u32, const instruction& i, const code&) {
      const rotary* const r = turned(i.p).rope;
      any |= r && (r->rule == rope_scaling::dynamic || r->rule == rope_scaling::longrope);
    });
    return any;
  }();
  // Whether a sequence can go on past its context, as it would in a longer one.
  static constexpr bool slides = first_persistent == layers && !turns_by_context;

  static constexpr u32 layer_inputs_width = unfused_header().regs[layer_inputs].width;  // 0: none

  // A tower reads rows of floats, patches, where a network reads ids; or it reads all ids of a text at once.
  static constexpr u32 patch_width = unfused_header().regs[token_ids].width;
  static constexpr bool is_tower = requires { Model::is_tower; };
  static constexpr bool reads_text = is_tower && patch_width == 1;
  // The outputs of a tower's deepstack letters, side by side.
  struct tap_table {
    u32 count, width, tokens;    // of how many layers, numbers of each, patches of a row
    bool alike;                  // whether all have these
    std::array<u32, layers> of;  // number of the layer's tap
  };
  static constexpr tap_table tap_outputs = [] {
    tap_table t{0, 0, 1, true, {}};
    for (u32 l = 0; l < layers; ++l)
      if (const value& v = unfused[kind_of[l]].regs[tapped]; is_tower && v.width > 0) {
        t.alike &= t.count == 0 || (t.width == v.width && t.tokens == v.tokens);
        t.of[l] = t.count++, t.width = v.width, t.tokens = v.tokens;
      }
    return t;
  }();
  // Patches of a row of features, and the side of the square of patches that it stands for; a text is a line of ids.
  static constexpr u32 merged = footer_code().regs[footer_code().regs.size() - 1].tokens;
  static constexpr u32 merge_side = reads_text ? 1 : whole_root(merged);
  // The side of the windows of patches that some of its layers see; 0: none.
  static constexpr u32 window_side = [] {
    u32 side = 0;
    for_each_op([&](place, u32, const instruction& i, const code&) {
      if (const u32 window = window_of_patches(i.p)) side = window;
    });
    return side;
  }();
  // Whether there is one side of windows.
  static constexpr bool windows_agree = [] {
    bool all = true;
    for_each_op([&](place, u32, const instruction& i, const code&) {
      const u32 window = window_of_patches(i.p);
      all &= window == 0 || window == window_side;
    });
    return all;
  }();
  static constexpr u32 square = reads_text ? 1 : merged;
  static_assert(sizeof(checks::tower_outputs_agree < square, tap_outputs.count ? tap_outputs.tokens : square,
                       tap_outputs.alike >) > 0 &&
                sizeof(checks::windows_hold_squares<window_side, merge_side, windows_agree>) > 0);

  // Rows of images in a text: none, or features with `parts` more for the first layers, which all of these add.
  static constexpr scatter_params scattered = [] {
    scatter_params p{};
    for (const instruction& i : unfused_header().ops)
      if (i.op == opcode::scatter) p = i.p.template as<scatter_params>();
    return p;
  }();
  static constexpr bool sees_images = scattered.cols > 0;
  static constexpr u32 image_width = scattered.cols * (1 + scattered.parts);
  static_assert(
      [] {
        for (u32 l = 0; l < layers && sees_images; ++l) {
          bool adds = false;
          for (const instruction& i : unfused[kind_of[l]].ops)
            adds |= i.op == opcode::residual_add && i.in.has(layer_inputs);
          if (adds != (l < scattered.parts)) return false;
        }
        return true;
      }(),
      "cke: program: deepstack_add is a letter of the first layers, as many as image_rows has taps, and of no other");
  // Whether rope turns rows of images by their place; the angles of a sequence with images are then those of its rows.
  static constexpr bool turns_by_image = [] {
    bool any = false;
    for_each_op([&](place, u32, const instruction& i, const code&) {
      const rotary* const r = turned(i.p).rope;
      any |= r && r->section_t + r->section_h + r->section_w > 0;
    });
    return any && sees_images;
  }();
  // Whether all rows of an image must be in one pass, since each of them sees all.
  static constexpr bool images_are_whole = [] {
    bool any = false;
    for_each_op([&](place, u32, const instruction& i, const code&) {
      any |=
          (i.op == opcode::attend || i.op == opcode::attend_quantize) && i.p.template as<attention_params>().sees_image;
    });
    return any && sees_images;
  }();

  // Numbers of a row of register 2: layer inputs, or taps.
  static constexpr u32 beside_width = is_tower ? tap_outputs.count * tap_outputs.width : layer_inputs_width;

  // Activations: the stream, the ids (of a tower: the patches), the layer inputs, and one scratch area that all blocks
  // share.
  struct memory {
    u64 stream, ids, layer_inputs, scratch, per_thread, total;  // per_thread: of each thread, in decode form
  };
  static constexpr memory activations(capacity k) {
    memory m{align_up(u64{4} * k.chunk * row_stride(dim)),
             align_up(u64{4} * k.chunk * (is_tower ? row_stride(patch_width) : 1)),
             beside_width ? align_up(u64{4} * k.chunk * row_stride(beside_width)) : 0,
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
    room(header_code(), k.chunk);
    for (const code* c : bodies) room(*c, k.chunk);
    room(footer_code(), k.logit_rows);
    m.total = m.stream + m.ids + m.layer_inputs + m.scratch + m.per_thread;
    return m;
  }
};

}  // namespace cke::graph

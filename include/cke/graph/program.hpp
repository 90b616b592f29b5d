// SPDX-License-Identifier: MIT
// program.hpp: a type list and a format policy become a program: kinds, variants, code.
#pragma once

#include <array>

#include "block_checks.hpp"
#include "format_policy.hpp"
#include "fuse.hpp"
#include "lower_experts.hpp"
#include "lower_latent.hpp"
#include "lower_recurrent.hpp"
#include "lower_tower.hpp"
#include "model_parts.hpp"
#include "program_data.hpp"

namespace cke::graph {

template <class Block, signature S> inline constexpr fused_code fused_block = fuse(lowered_block<Block, S>);
template <class Header, signature S> inline constexpr code lowered_header = lower_header<Header>(S);

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

  // How often each fusion is applied, summed over all layers.
  static constexpr fusion_stats fusion = [] {
    fusion_stats all{};
    if (!Fused) return all;
    u32 layers_of[body_count]{};
    for (const u8 v : variants.of) ++layers_of[v];
    [&]<std::size_t... V>(std::index_sequence<V...>) {
      (all.add(fused_block<at<variants.list[V].kind, kinds>, variants.list[V].formats>.stats, layers_of[V]), ...);
    }(std::make_index_sequence<body_count>{});
    all.add(fused_block<footer, footer_formats>.stats, 1);
    return all;
  }();

  static constexpr bool is_tower = requires { Model::is_tower; };
  static constexpr u32 dim = footer::in;

  // All of it as data, but for what its family says of files: a program without files does not include that.
  static constexpr program_data without_files{.fused = Fused,
                                              .is_tower = is_tower,
                                              .layers = layers,
                                              .dim = dim,
                                              .kind_count = length<kinds>,
                                              .body_count = body_count,
                                              .kind_of = kind_of.data(),
                                              .variant_of = variants.of.data(),
                                              .unfused = unfused.data(),
                                              .variants = variants.list.begin(),
                                              .bodies = bodies.data(),
                                              .header = &header_code(),
                                              .footer = &footer_code(),
                                              .unfused_header = &unfused_header(),
                                              .unfused_footer = &unfused_footer(),
                                              .header_formats = header_formats,
                                              .footer_formats = footer_formats,
                                              .fusion = fusion};
  static constexpr program_data data = [] {
    program_data all = without_files;
    family_facts& of = all.family;
    of.names = rules_of<Model>();
    if constexpr (requires { Model::family::name; }) of.name = Model::family::name;
    if constexpr (requires { Model::family::unread; }) of.unread = Model::family::unread;
    of.predicts_ahead = requires { Model::family::predicts_ahead; };
    return all;
  }();

  template <class F> static constexpr void for_each_op(F f) { without_files.for_each_op(f); }
  static constexpr u32 count(opcode op = opcode::none) { return without_files.count(op); }
  static constexpr u32 barriers(form f) { return without_files.barriers(f); }
  template <class F> static constexpr u64 for_each_weight(F f) { return without_files.for_each_weight(f); }
  static constexpr u64 weight_bytes = without_files.weight_bytes(), parameters = without_files.parameters();

  // One bit per format that some matrix has: kernels of other formats are not compiled.
  static constexpr u64 stored_types = [] {
    u64 bits = 0;
    for_each_weight([&](const weight& w) { bits |= u64{w.slot.quantisable} << static_cast<u8>(w.as); });
    return bits;
  }();

  static constexpr program_data::end_of_row row_end = without_files.row_end();
  static constexpr u32 vocab = without_files.vocab();

  template <class F> static constexpr page_plan for_each_state(dtype kv, F f) {
    return without_files.for_each_state(kv, f);
  }
  static constexpr page_plan page(dtype kv) { return without_files.page(kv); }
  // The most bytes that a sequence takes.
  static constexpr u64 state_bytes(capacity k, dtype kv) { return page(kv).bytes(k); }
  // Whether a position's state is known only by computing all positions before it.
  static constexpr bool recurrent = page(dtype::f32).recurrent;
  static constexpr u32 first_persistent = without_files.first_persistent();
  static constexpr bool turns_by_context = without_files.turns_by_context();
  // Whether a sequence can go on past its context, as it would in a longer one.
  static constexpr bool slides = without_files.slides();

  static constexpr u32 layer_inputs_width = unfused_header().regs[layer_inputs].width;  // 0: none

  // A tower reads rows of floats, patches, where a network reads ids; or it reads all ids of a text at once.
  static constexpr u32 patch_width = without_files.patch_width();
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
      if (const value& v = without_files.tap_of(l); is_tower && v.width > 0) {
        t.alike &= t.count == 0 || (t.width == v.width && t.tokens == v.tokens);
        t.of[l] = t.count++, t.width = v.width, t.tokens = v.tokens;
      }
    return t;
  }();
  // Patches of a row of features, and the side of the square of patches that it stands for; a text is a line of ids.
  static constexpr u32 merged = without_files.output().tokens;
  static constexpr u32 merge_side = without_files.merge_side();
  // The side of the windows of patches that some of its layers see; 0: none.
  static constexpr u32 window_side = without_files.window_side();
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
  static constexpr scatter_params scattered = without_files.scattered();
  static constexpr bool sees_images = without_files.sees_images();
  static constexpr u32 image_width = without_files.image_width();
  static_assert(
      [] {
        for (u32 l = 0; l < layers && !is_tower; ++l) {  // also without images: there is nothing to add then
          bool adds = false;
          for (const instruction& i : unfused[kind_of[l]].ops)
            adds |= i.op == opcode::residual_add && i.in.has(layer_inputs);
          if (adds != (l < scattered.parts)) return false;
        }
        return true;
      }(),
      "cke: program: deepstack_add is a letter of the first layers, as many as image_rows has taps, and of no other");
  static_assert(
      [] {
        u32 writers = 0;
        for (const instruction& i : unfused_header().ops) writers += i.out.has(layer_inputs);
        for (const code& c : unfused)
          for (const instruction& i : c.ops)
            if (i.op == opcode::scatter) return false;
        return is_tower || writers <= 1;
      }(),
      "cke: program: image_rows stands before the layers, and its taps not beside a layer_embedding");
  static constexpr u32 least_vocab = [] {
    u32 least = ~0u;
    for (const instruction& i : unfused_header().ops)
      if (i.op == opcode::embedding && i.p.as<embedding_params>().rows < least) least = i.p.as<embedding_params>().rows;
    return least;
  }();
  static_assert(sizeof(checks::pad_is_an_id<scattered.pad, least_vocab>) > 0);
  static constexpr bool turns_by_image = without_files.turns_by_image(),
                        images_are_whole = without_files.images_are_whole();

  static constexpr u32 beside_width = without_files.beside_width();
  static constexpr program_data::memory activations(capacity k) { return without_files.activations(k); }
};

}  // namespace cke::graph

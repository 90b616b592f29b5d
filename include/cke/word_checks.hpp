// SPDX-License-Identifier: MIT
// word_checks.hpp: what each word requires of its parts, and a model of all its letters together.
#pragma once

#include "layer_checks.hpp"

namespace cke::checks {

struct link {
  u32 at, produces, expects;
};  // the edge into letter number `at`
// Around: also from the last letter to the first; the number of that link is the count of letters.
template <class... Ls> constexpr link first_broken_link(bool around) {
  constexpr u32 n = sizeof...(Ls), in[]{Ls::in..., 0}, out[]{Ls::out..., 0};
  for (u32 i = 1; i < n + around; ++i)
    if (in[i % n] != out[i - 1]) return {i, out[i - 1], in[i % n]};
  return {};
}
template <link At> struct layers_fit {
  static_assert(At.produces == At.expects,
                "cke: layers: a letter's input is not its predecessor's output; "
                "see layers_fit<link{at, produces, expects}>");
};
template <fixed_string Word, u32 Parts> struct has_parts {
  static_assert(Parts > 0, "cke: layers: a word without parts; name at least one, see has_parts<word, parts>");
};

// ---- words inside a layer --------------------------------------------------------------------------

template <class... Ls> struct word<chain<Ls...>> : has_parts<"chain", sizeof...(Ls)>,
                                                   layers_fit<first_broken_link<Ls...>(false)> {};
template <class... Ls> struct word<residual<Ls...>> : has_parts<"residual", sizeof...(Ls)>,
                                                      layers_fit<first_broken_link<Ls...>(true)> {};
template <class... Ls> struct word<block<Ls...>> : has_parts<"block", sizeof...(Ls)>,
                                                   layers_fit<first_broken_link<Ls...>(true)> {};

// Whether a word adds into its input, so that other words no longer see the original.
template <class T> inline constexpr bool changes_input = false;
template <class... Ls> inline constexpr bool changes_input<residual<Ls...>> = true;
template <u32 Dim> inline constexpr bool changes_input<learned_scale<Dim>> = true;
template <u32 Dim> inline constexpr bool changes_input<deepstack_add<Dim>> = true;
template <u32 Dim, u32 Taps, u32 Pad, bool B> inline constexpr bool changes_input<image_rows<Dim, Taps, Pad, B>> = B;
// Whether a letter passes its input on as it is.
template <class T> inline constexpr bool passes_input = false;
template <u32 Dim, real By> inline constexpr bool passes_input<scale<Dim, By>> = By.v == 1;
template <u32 Dim, real Cap> inline constexpr bool passes_input<softcap<Dim, Cap>> = Cap.v == 0;
template <u32 Dim, u32 Taps, u32 Pad> inline constexpr bool passes_input<image_rows<Dim, Taps, Pad, false>> = true;
template <class... Ls> inline constexpr bool passes_input<chain<Ls...>> = (passes_input<Ls> && ...);
template <class L> inline constexpr bool passes_input<sum<L>> = passes_input<L>;
template <class L, class... Ls> inline constexpr bool changes_input<chain<L, Ls...>> = [] {
  if constexpr (sizeof...(Ls) == 0) return changes_input<L>;
  else return changes_input<L> || (passes_input<L> && changes_input<chain<Ls...>>);
}();
template <class... Ls> inline constexpr bool changes_input<sum<Ls...>> = (changes_input<Ls> || ...);

// A branch of a sum, or a kind of an arrangement, and the first one, whose ends it must share.
struct ends_of {
  u32 at, in, out, first_in, first_out;
};
template <class... Ls> constexpr ends_of first_unlike() {
  constexpr u32 n = sizeof...(Ls), in[]{Ls::in..., 0}, out[]{Ls::out..., 0};
  for (u32 i = 1; i < n; ++i)
    if (in[i] != in[0] || out[i] != out[0]) return {i, in[i], out[i], in[0], out[0]};
  return {};
}
template <class... Ls> constexpr u32 first_changing_input() {
  constexpr bool changes[]{changes_input<Ls>..., true};
  u32 i = 0;
  while (!changes[i]) ++i;
  return i;
}
template <ends_of E> struct branches_agree {
  static_assert(E.in == E.first_in && E.out == E.first_out,
                "cke: sum: all branches read and leave rows of the same widths; "
                "see branches_agree<ends_of{branch, in, out, in of the first, out of the first}>");
};
template <u32 Branch, u32 Branches> struct branches_keep_input {
  static_assert(Branch == Branches,
                "cke: sum: a branch changes the input that the others read; "
                "put a letter with a result of its own first, see branches_keep_input<branch, branches>");
};
template <class... Ls> struct word<sum<Ls...>> : has_parts<"sum", sizeof...(Ls)>,
                                                 branches_agree<first_unlike<Ls...>()>,
                                                 branches_keep_input<first_changing_input<Ls...>(), sizeof...(Ls)> {};

// ---- stacks ----------------------------------------------------------------------------------------

template <std::size_t Layers, u32 Period> struct stack_uses_period {
  static_assert(Layers >= Period,
                "cke: stack: fewer layers than kinds in the period; the last kinds would be none of the layers, "
                "see stack_uses_period<layers, kinds>");
};
template <std::size_t N, class... Ls> struct word<stack<N, Ls...>> : in_range<"stack.layers", N, 1, limit::layers>,
                                                                     has_parts<"stack", sizeof...(Ls)>,
                                                                     stack_uses_period<N, sizeof...(Ls)>,
                                                                     layers_fit<first_broken_link<Ls...>(true)> {};

struct index_of {
  u32 layer;
  i64 kind;
};
template <auto Order> constexpr index_of first_wrong_index(u32 kinds) {
  for (u32 i = 0; i < Order.size(); ++i)
    if (!(Order[i] >= 0 && static_cast<u64>(Order[i]) < kinds)) return {i, static_cast<i64>(Order[i])};
  return {};
}
template <index_of At, u32 Kinds> struct order_names_kinds {
  static_assert(At.kind >= 0 && static_cast<u64>(At.kind) < Kinds,
                "cke: arrange: a layer's kind is not one of those listed; "
                "see order_names_kinds<index_of{layer, kind}, kinds>");
};
template <ends_of E> struct kinds_agree {
  static_assert(E.in == E.first_in && E.out == E.first_out,
                "cke: arrange: all kinds read and leave rows of the same width; "
                "see kinds_agree<ends_of{kind, in, out, in of the first, out of the first}>");
};
template <auto Order, class... Ls> struct word<arrange<Order, Ls...>>
    : in_range<"arrange.layers", Order.size(), 1, limit::layers>,
      has_parts<"arrange", sizeof...(Ls)>,
      order_names_kinds<first_wrong_index<Order>(sizeof...(Ls)), sizeof...(Ls) ? sizeof...(Ls) : 1>,
      kinds_agree<first_unlike<Ls...>()>,
      layers_fit<first_broken_link<Ls...>(true)> {};

// ---- models ----------------------------------------------------------------------------------------

// The facts of a letter that other letters of the model must agree with; 0: none.
struct facts {
  u32 vocab{}, dim{};                                 // of the embedding
  u32 tied_vocab{}, tied_dim{};                       // of a tied head
  u32 per_layer_vocab{}, per_layer_layers{}, part{};  // of a layer_embedding
  u32 part_read{}, other_part_read{};                 // by layer_inputs
  u32 layer_embeddings{}, layer_inputs{};             // how many there are
  u32 bidirectional{}, causal{};                      // letters whose rows see others
  u32 places{}, merges{}, taps{};                     // letters of patches
};
constexpr facts operator+(const facts& a, const facts& b) {
  const bool same = a.part_read == b.part_read || b.part_read == 0;
  return {a.vocab ? a.vocab : b.vocab,
          a.dim ? a.dim : b.dim,
          a.tied_vocab ? a.tied_vocab : b.tied_vocab,
          a.tied_dim ? a.tied_dim : b.tied_dim,
          a.layer_embeddings ? a.per_layer_vocab : b.per_layer_vocab,
          a.layer_embeddings ? a.per_layer_layers : b.per_layer_layers,
          a.layer_embeddings ? a.part : b.part,
          a.part_read ? a.part_read : b.part_read,
          a.other_part_read          ? a.other_part_read
              : a.part_read && !same ? b.part_read
                                     : b.other_part_read,
          a.layer_embeddings + b.layer_embeddings,
          a.layer_inputs + b.layer_inputs,
          a.bidirectional + b.bidirectional,
          a.causal + b.causal,
          a.places + b.places,
          a.merges + b.merges,
          a.taps + b.taps};
}
template <class T> inline constexpr facts facts_of{};
template <u32 V, u32 D> inline constexpr facts facts_of<embedding<V, D>>{.vocab = V, .dim = D};
template <u32 V, u32 D> inline constexpr facts facts_of<head<D, V, true>>{.tied_vocab = V, .tied_dim = D};
template <u32 V, u32 D, u32 L, u32 P, real E> inline constexpr facts facts_of<layer_embedding<V, D, L, P, E>>{
    .per_layer_vocab = V, .per_layer_layers = L, .part = P, .layer_embeddings = 1};
template <u32 D, u32 P, activation A>
inline constexpr facts facts_of<layer_input<D, P, A>>{.part_read = P, .layer_inputs = 1};
template <attention_options S>
inline constexpr facts facts_of<attention<S>>{.bidirectional = S.bidirectional, .causal = !S.bidirectional};
template <latent_attention_options S> inline constexpr facts facts_of<latent_attention<S>>{.causal = 1};
template <delta_net_options S> inline constexpr facts facts_of<gated_delta_net<S>>{.causal = 1};
template <mamba_options S> inline constexpr facts facts_of<mamba_mixer<S>>{.causal = 1};
template <u32 D, u32 T, bool B> inline constexpr facts facts_of<short_conv<D, T, B>>{.causal = 1};
template <u32 D, u32 R, position_rule P> inline constexpr facts facts_of<learned_positions<D, R, P>>{.places = 1};
template <u32 D, u32 By, bool I> inline constexpr facts facts_of<spatial_merge<D, By, I>>{.merges = 1};
template <u32 D, u32 By> inline constexpr facts facts_of<average_pool<D, By>>{.merges = 1};
template <u32 D, u32 By> inline constexpr facts facts_of<last_row<D, By>>{.merges = 1};
template <u32 D, u32 H, u32 By, u32 F, activation A, real E>
inline constexpr facts facts_of<attention_pool<D, H, By, F, A, E>>{.merges = 1};
template <class... Ls> inline constexpr facts facts_of<deepstack<Ls...>>{.taps = 1};
template <template <class...> class Word, class... Ls>
inline constexpr facts facts_of<Word<Ls...>> = (facts{} + ... + facts_of<Ls>);
template <class Stack>
  requires stacked<Stack>
inline constexpr facts facts_of<Stack> = facts_of<typename Stack::kinds>;

// The parts of a model: before the first stack, stacks, between them, after the last.
struct model_layout {
  u32 before{}, stacks{}, between{}, after{};
  u64 layers{}, kinds{};
  facts before_stacks{}, in_stacks{}, after_stacks{};
};
template <class T> constexpr u64 layers_of = 0;
template <class T>
  requires stacked<T>
constexpr u64 layers_of<T> = T::layers;
template <class T> constexpr u64 kinds_in = 0;
template <class T>
  requires stacked<T>
constexpr u64 kinds_in<T> = length<typename T::kinds>;

template <class... Parts> constexpr model_layout layout_of() {
  constexpr bool is_stack[]{stacked<Parts>..., false};
  constexpr facts of[]{facts_of<Parts>..., {}};
  model_layout s{.layers = (u64{} + ... + layers_of<Parts>), .kinds = (u64{} + ... + kinds_in<Parts>)};
  for (u32 i = 0; i < sizeof...(Parts); ++i) {
    if (is_stack[i]) s.between += s.after, s.after = 0, ++s.stacks;
    else ++(s.stacks ? s.after : s.before);
    facts& sum = is_stack[i] ? s.in_stacks : s.stacks ? s.after_stacks : s.before_stacks;
    sum = sum + of[i];
  }
  return s;
}

template <u32 In> struct model_reads_ids {
  static_assert(In == 1,
                "cke: model: the first letter reads token ids; begin with embedding<vocab, dim>, "
                "see model_reads_ids<in>");
};
template <u32 Before, u32 Stacks, u32 Between, u32 After> struct model_is_in_order {
  static_assert(Before > 0 && Stacks > 0 && Between == 0 && After > 0,
                "cke: model: letters, then stacks, then letters; "
                "see model_is_in_order<before, stacks, between, after>");
};
template <u32 Vocab, u32 Dim, u32 HeadVocab, u32 HeadDim> struct tied_head_fits {
  static_assert(HeadDim == 0 || (HeadVocab == Vocab && HeadDim == Dim),
                "cke: model: a tied head is the embedding's matrix; "
                "see tied_head_fits<vocab, dim, head's vocab, head's dim>");
};
template <u32 Before, u32 Elsewhere, u32 InputsElsewhere> struct layer_embedding_comes_first {
  static_assert(Before <= 1 && Elsewhere == 0 && InputsElsewhere == 0,
                "cke: model: one layer_embedding before the stacks, layer_inputs in them; "
                "see layer_embedding_comes_first<before, elsewhere, layer_inputs outside of stacks>");
};
template <u32 Vocab, u32 SideVocab> struct embeddings_agree {
  static_assert(SideVocab == 0 || SideVocab == Vocab,
                "cke: model: layer_embedding has the vocab of embedding; "
                "see embeddings_agree<vocab, layer_embedding's vocab>");
};
template <u32 Layers, u64 LayersThere> struct layer_embedding_serves_layers {
  static_assert(Layers == LayersThere || Layers == 0,
                "cke: model: layer_embedding has a part for each layer; "
                "see layer_embedding_serves_layers<layers, layers of the model>");
};
template <u32 Part, u32 Read, u32 OtherRead> struct layer_inputs_fit {
  static_assert((Read == 0 || Read == Part) && (OtherRead == 0 || OtherRead == Part),
                "cke: model: layer_input reads what layer_embedding leaves for a layer; "
                "see layer_inputs_fit<layer_embedding's part, part read, another>");
};

template <facts All, u64 Layers> struct letters_agree
    : tied_head_fits<All.vocab, All.dim, All.tied_vocab, All.tied_dim>,
      embeddings_agree<All.vocab, All.per_layer_vocab>,
      layer_embedding_serves_layers<All.part ? All.per_layer_layers : 0, Layers>,
      layer_inputs_fit<All.part, All.part_read, All.other_part_read> {};
template <u32 Bidirectional> struct network_is_causal {
  static_assert(Bidirectional == 0,
                "cke: attention: a network's rows see those before them; bidirectional attention is for a tower, "
                "see network_is_causal<bidirectional letters>");
};
template <u32 Places, u32 Merges, u32 Taps> struct network_has_no_patches {
  static_assert(Places + Merges + Taps == 0,
                "cke: model: letters of patches are for a tower; "
                "see network_has_no_patches<learned_positions, merges, deepstack>");
};
template <u32 Before, u32 After> struct states_are_in_layers {
  static_assert(Before == 0 && After == 0,
                "cke: model: attention and recurrent letters are for layers, which have states; "
                "see states_are_in_layers<letters before the stacks, after them>");
};
template <facts B, facts A>
using no_states_outside = states_are_in_layers<B.causal + B.bidirectional, A.causal + A.bidirectional>;
template <facts F> using has_no_patches = network_has_no_patches<F.places, F.merges, F.taps>;
template <model_layout S> struct parts_agree
    : network_is_causal<S.in_stacks.bidirectional>,
      no_states_outside<S.before_stacks, S.after_stacks>,
      has_no_patches<S.before_stacks + S.in_stacks + S.after_stacks>,
      model_is_in_order<S.before, S.stacks, S.between, S.after>,
      in_range<"network.layers", S.layers, 0, limit::layers>,
      in_range<"network.kinds", S.kinds, 0, 255>,
      layer_embedding_comes_first<S.before_stacks.layer_embeddings,
                                  S.in_stacks.layer_embeddings + S.after_stacks.layer_embeddings,
                                  S.before_stacks.layer_inputs + S.after_stacks.layer_inputs>,
      letters_agree<S.before_stacks + S.in_stacks + S.after_stacks, S.layers> {};

// ---- towers ----------------------------------------------------------------------------------------

template <bool Changes> struct deepstack_keeps_input {
  static_assert(!Changes,
                "cke: deepstack: it changes the stream; put a letter with a result of its own first, "
                "see deepstack_keeps_input<changes>");
};
template <class... Ls> struct word<deepstack<Ls...>> : has_parts<"deepstack", sizeof...(Ls)>,
                                                       layers_fit<first_broken_link<Ls...>(false)>,
                                                       deepstack_keeps_input<changes_input<chain<Ls...>>> {};
template <u32 Before, u32 Stacks, u32 Between, u32 After> struct tower_is_in_order {
  static_assert(Before > 0 && Stacks > 0 && Between == 0 && After > 0,
                "cke: tower: letters, then stacks, then letters; "
                "see tower_is_in_order<before, stacks, between, after>");
};
template <class First> struct tower_reads_patches {
  static_assert(sizeof(First) == 0,
                "cke: tower: the first letter reads patches or ids; begin with patch_embedding<in, dim, bias>, "
                "see tower_reads_patches<first letter>");
};
template <u32 In, u32 D, bool B> struct tower_reads_patches<patch_embedding<In, D, B>> {};
template <u32 In, real By, real O> struct tower_reads_patches<affine<In, By, O>> {};
template <u32 V, u32 D> struct tower_reads_patches<embedding<V, D>> {};
template <u32 Causal> struct tower_is_bidirectional {
  static_assert(Causal == 0,
                "cke: attention: a tower keeps nothing from pass to pass; set bidirectional, "
                "see tower_is_bidirectional<causal letters>");
};
template <u32 Before, u32 Elsewhere> struct places_come_first {
  static_assert(
      Before <= 1 && Elsewhere == 0,
      "cke: tower: at most one learned_positions, before the stacks; see places_come_first<before, elsewhere>");
};
template <u32 Before, u32 InStacks> struct rows_merge_last {
  static_assert(
      Before == 0 && InStacks == 0,
      "cke: tower: rows become one after the stacks, or in deepstack; see rows_merge_last<before, in stacks>");
};
template <u32 Elsewhere> struct taps_are_in_layers {
  static_assert(Elsewhere == 0, "cke: tower: deepstack is for layers; see taps_are_in_layers<elsewhere>");
};
template <model_layout S> struct tower_parts_agree
    : tower_is_bidirectional<S.in_stacks.causal>,
      no_states_outside<S.before_stacks, S.after_stacks>,
      places_come_first<S.before_stacks.places, S.in_stacks.places + S.after_stacks.places>,
      rows_merge_last<S.before_stacks.merges, S.in_stacks.merges>,
      taps_are_in_layers<S.before_stacks.taps + S.after_stacks.taps>,
      tower_is_in_order<S.before, S.stacks, S.between, S.after>,
      in_range<"tower.layers", S.layers, 0, limit::layers>,
      in_range<"tower.kinds", S.kinds, 0, 255> {};
template <class... Ls> struct word<tower<Ls...>> : has_parts<"tower", sizeof...(Ls)>,
                                                   layers_fit<first_broken_link<Ls...>(false)>,
                                                   tower_reads_patches<at<0, list<Ls..., void>>>,
                                                   tower_parts_agree<layout_of<Ls...>()> {};

template <class... Ls> struct word<network<Ls...>> : has_parts<"network", sizeof...(Ls)>,
                                                     layers_fit<first_broken_link<Ls...>(false)>,
                                                     model_reads_ids<ends<Ls...>::in>,
                                                     parts_agree<layout_of<Ls...>()> {};

}  // namespace cke::checks

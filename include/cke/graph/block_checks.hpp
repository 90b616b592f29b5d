// SPDX-License-Identifier: MIT
// block_checks.hpp: checks of lowered code: where a block leaves its result, and whose cache it reads.
#pragma once

#include "lower.hpp"

namespace cke::graph {

template <class Block, signature S> inline constexpr code lowered_block = lower_block<Block>(S);

namespace checks {

using namespace cke::checks;

constexpr bool last_step_writes(const code& c, u32 r) {
  return c.ops.size() > 0 && c.ops[c.ops.size() - 1].out.has(static_cast<reg>(r));
}
// A layer continues the stream, so its last step writes it; a tower's layer may go on to its taps.
constexpr bool leaves_stream(const code& c) {
  u32 last = c.ops.size();
  while (last > 0 && !c.ops[last - 1].out.has(stream)) --last;
  return last > 0 && (last == c.ops.size() || last_step_writes(c, tapped));
}
// Rows of features stand for squares of patches, the same in all outputs of a tower.
template <u32 Merged, u32 OfTaps, bool TapsAlike> struct tower_outputs_agree {
  static constexpr u32 side = whole_root(Merged);
  static_assert(side * side == Merged && OfTaps == Merged && TapsAlike,
                "cke: tower: rows of features stand for squares of patches, the same in all its outputs; "
                "see tower_outputs_agree<patches of a row, of a deepstack's row, all deepstacks alike>");
};
template <u32 Window, u32 Side, bool Agree> struct windows_hold_squares {
  static_assert(Window % Side == 0 && Agree,
                "cke: tower: windows of one side, of whole squares that become a row; "
                "see windows_hold_squares<window, side of a square, all windows alike>");
};
template <class Block> struct block_leaves_stream {
  static_assert(leaves_stream(lowered_block<Block, signature{}>),
                "cke: block: its result is not in the stream; let its words be residual<...>, "
                "or change the stream in place, see block_leaves_stream<block>");
};
// The last register of a model's last letters holds the logits.
template <class Footer> struct footer_leaves_logits {
  static_assert(last_step_writes(lowered_block<Footer, signature{}>,
                                 lowered_block<Footer, signature{}>.regs.size() - 1),
                "cke: model: its last letters leave no logits; end with head<dim, vocab, tied>, "
                "see footer_leaves_logits<letters>");
};

template <u32 Pad, u32 Vocab> struct pad_is_an_id {
  static_assert(Pad < Vocab,
                "cke: program: the id that stands for rows of images is one of the embeddings; "
                "see pad_is_an_id<pad, vocab>");
};

struct shared_cache {
  u32 layer, kv_heads, head_dim, window;
};
template <shared_cache C> struct cache_has_owner {
  static_assert(C.kv_heads == 0,
                "cke: program: a layer shares a cache, and none before it has one of its shape; "
                "see cache_has_owner<shared_cache{layer, kv_heads, head_dim, window}>");
};
template <class Census, class... Ks> constexpr shared_cache first_without_owner(list<Ks...>) {
  constexpr const code* of[]{&lowered_block<Ks, signature{}>...};
  small_vector<const state_shape*, 64> owned;
  for (u32 l = 0; l < Census::layers; ++l)
    for (const state_shape& s : of[Census::kind_of[l]]->states) {
      u32 i = 0;
      while (i < owned.size() && !owned[i]->like(s)) ++i;
      if (i < owned.size()) continue;
      if (s.shared) return {l, s.heads, s.head_dim, s.rows};
      owned.push(&s);
    }
  return {};
}
template <class Census> constexpr u32 kinds_used() {
  bool used[256]{};
  u32 n = 0;
  for (const u8 kind : Census::kind_of) n += !used[kind], used[kind] = true;
  return n;
}

template <class Census, class Footer, class Kinds = typename Census::kinds> struct code_holds;
template <class Census, class Footer, class... Ks> struct code_holds<Census, Footer, list<Ks...>>
    : footer_leaves_logits<Footer>,
      in_range<"network.kinds", kinds_used<Census>(), 1, limit::kinds>,
      cache_has_owner<first_without_owner<Census>(list<Ks...>{})> {
  static_assert(((sizeof(block_leaves_stream<Ks>) > 0) && ...));  // kinds may be equal, bases may not
};

}  // namespace checks
}  // namespace cke::graph

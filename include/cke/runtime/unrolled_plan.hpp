// SPDX-License-Identifier: MIT
// unrolled_plan.hpp: where everything of an unrolled program is, as constants: registers, weights, states, ropes.
#pragma once

#include <array>

#include "packed_sizes.hpp"
#include "state_layout.hpp"
#include "step_facts.hpp"

namespace cke::runtime {

// The distinct ropes of a program.
struct rope_list {
  small_vector<turned_head, 16> all;
  // `all.size()`: not among them.
  constexpr u32 find(const turned_head& t) const {
    u32 n = 0;
    while (n < all.size() && !(all[n].head_dim == t.head_dim && *all[n].rope == *t.rope)) ++n;
    return n;
  }
};

// A pass has at most Rows rows, and the footer takes one at a time. Places are numbered as in step_tables: the header,
// then layer l at l + 1, then the footer.
template <class P, dtype KV, class Isa, u32 Rows = decode_rows> struct unrolled_plan {
  using packed = packed_sizes<P, Isa>;
  static constexpr u32 footer = P::layers + 1;
  static constexpr u32 layer_of(u32 place) { return place == 0 || place == footer ? 0 : place - 1; }

  template <u32 Place> static constexpr const code& code_at() {
    if constexpr (Place == 0) return P::header_code();
    else if constexpr (Place == footer) return P::footer_code();
    else return P::template body<P::variants.of[Place - 1]>();
  }
  // The first place with the same code. Its functions serve all of them.
  static constexpr u32 first_like(u32 place) {
    if (place == 0 || place == footer) return place;
    u32 first = 1;
    while (P::variants.of[first - 1] != P::variants.of[place - 1]) ++first;
    return first;
  }

  // A workspace of this capacity has the same layouts.
  static constexpr u32 rows = Rows;
  static constexpr capacity limits(u32 context) { return {context, rows, 1}; }
  template <u32 Place> static constexpr graph::layout registers =
      place_registers(code_at<Place>(), form::decode, Place == footer ? 1 : rows);

  // Whether places of weights are constants: bytes from the beginning of all weights to the first of each place.
  // Otherwise: the first of each place in the list of where weights are.
  static constexpr bool sized = packed::sized();
  static constexpr std::array<u64, P::layers + 2> first_weight = [] {
    std::array<u64, P::layers + 2> all{};
    if (!sized) {
      for (u32 p = 0; p < all.size(); ++p) all[p] = u64{p} * max_slots;
      return all;
    }
    u64 at = 0;
    u32 place = 0;
    P::for_each_weight([&](const weight& w) {
      const u32 now = w.where == place::header ? 0 : w.where == place::body ? w.layer + 1 : footer;
      while (place < now) all[++place] = at;
      at += packed::room_for(w);
    });
    return all;
  }();
  // Bytes from there to each weight of the place. A tied head is the first weight of the header.
  template <u32 Place> static constexpr std::array<u64, max_slots> weight_offsets = [] {
    std::array<u64, max_slots> all{};
    u64 at = 0;
    const code& c = code_at<Place>();
    for (u32 n = 0; n < c.slots.size(); ++n) {
      const weight_slot& s = c.slots[n];
      all[n] = s.tied ? u64{0} - first_weight[footer] : at;
      if (!s.tied) at += packed::room_for(weight{.slot = s, .as = c.formats[n]});
    }
    return all;
  }();

  // The first state of each place, an index into state_layout::places.
  static constexpr std::array<u32, P::layers + 2> first_state = [] {
    std::array<u32, P::layers + 2> all{};
    for (u32 l = 0; l < P::layers; ++l)
      all[l + 2] = all[l + 1] + static_cast<u32>(P::unfused[P::kind_of[l]].states.size());
    return all;
  }();
  // The state of a step, which has one.
  template <u32 Place, u32 Step> static constexpr kv_place state_of =
      state_layout<P, KV, Isa>::places[first_state[Place] + code_at<Place>().ops[Step].state];

  static constexpr rope_list ropes = [] {
    rope_list list;
    P::for_each_op([&](place, u32, const instruction& i, const code&) {
      if (const turned_head t = turned(i.p); t.rope && list.find(t) == list.all.size()) list.all.push(t);
    });
    return list;
  }();
};

}  // namespace cke::runtime

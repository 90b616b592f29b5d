// SPDX-License-Identifier: MIT
// words.hpp: the steps of the alphabet's words in a net: chain, residual, sum.
#pragma once

#include <tuple>

#include "recurrent.hpp"

namespace cke::net {

// The weights and the states of letters, each a type of its own.
template <class Isa, class... Ls> struct parts {
  struct weights {
    std::tuple<typename stage<Ls, Isa>::weights...> of;
    constexpr void pack(const float* from) {
      std::apply([&](auto&... w) { ((w.pack(from), from += parameters<Ls>), ...); }, of);
    }
  };
  struct state {
    std::tuple<typename stage<Ls, Isa>::state...> of;
  };
  template <std::size_t I> using letter = at<I, list<Ls...>>;

  template <std::size_t I>
  CKE_INLINE static void step(const weights& w, state& s, const frame<Isa, letter<I>::in>& x,
                              frame<Isa, letter<I>::out>& y) {
    stage<letter<I>, Isa>::step(std::get<I>(w.of), std::get<I>(s.of), x, y);
  }
};

template <class... Ls, class Isa> struct stage<chain<Ls...>, Isa> : parts<Isa, Ls...> {
  using typename parts<Isa, Ls...>::weights, typename parts<Isa, Ls...>::state;
  using word = chain<Ls...>;

  static void step(const weights& w, state& s, const frame<Isa, word::in>& x, frame<Isa, word::out>& y) {
    from<0>(w, s, x, y);
  }

 private:
  template <std::size_t I, class X>
  CKE_INLINE static void from(const weights& w, state& s, const X& x, frame<Isa, word::out>& y) {
    using all = parts<Isa, Ls...>;
    if constexpr (I + 1 == sizeof...(Ls)) {
      all::template step<I>(w, s, x, y);
    } else {
      frame<Isa, all::template letter<I>::out> next;
      all::template step<I>(w, s, x, next);
      from<I + 1>(w, s, next, y);
    }
  }
};

// x + its letters of x.
template <class... Ls, class Isa> struct stage<residual<Ls...>, Isa> : stage<chain<Ls...>, Isa> {
  using typename stage<chain<Ls...>, Isa>::weights, typename stage<chain<Ls...>, Isa>::state;
  static constexpr u32 dim = residual<Ls...>::in;

  static void step(const weights& w, state& s, const frame<Isa, dim>& x, frame<Isa, dim>& y) {
    stage<chain<Ls...>, Isa>::step(w, s, x, y);
    y.each([&](u32 i) { y.set(i, x.at(i) + y.at(i)); });
  }
};

// The sum of what its branches make of x.
template <class... Ls, class Isa> struct stage<sum<Ls...>, Isa> : parts<Isa, Ls...> {
  using typename parts<Isa, Ls...>::weights, typename parts<Isa, Ls...>::state;
  using word = sum<Ls...>;

  static void step(const weights& w, state& s, const frame<Isa, word::in>& x, frame<Isa, word::out>& y) {
    parts<Isa, Ls...>::template step<0>(w, s, x, y);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (add<I + 1>(w, s, x, y), ...);
    }(std::make_index_sequence<sizeof...(Ls) - 1>{});
  }

 private:
  template <std::size_t I>
  CKE_INLINE static void add(const weights& w, state& s, const frame<Isa, word::in>& x, frame<Isa, word::out>& y) {
    frame<Isa, word::out> branch;
    parts<Isa, Ls...>::template step<I>(w, s, x, branch);
    y.each([&](u32 i) { y.set(i, y.at(i) + branch.at(i)); });
  }
};

}  // namespace cke::net

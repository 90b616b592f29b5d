// SPDX-License-Identifier: MIT
// model_parts.hpp: a model's type taken apart: letters before its stacks, its layers by kind, letters after them.
#pragma once

#include <array>
#include <type_traits>
#include <utility>

#include "../layers.hpp"

namespace cke::graph {

template <class... As, class... Bs> list<As..., Bs...> operator+(list<As...>, list<Bs...>);

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

}  // namespace cke::graph

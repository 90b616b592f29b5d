// SPDX-License-Identifier: MIT
// layer_set.hpp: some of a model's layers, as a template argument.
#pragma once

#include <array>
#include <initializer_list>

#include "../core/types.hpp"

namespace cke {

// A set of layers; arrange<> takes the second of two kinds for its members.
struct layer_set {
  static constexpr u32 most = 1024;
  std::array<u32, most / 32> bits{};
  constexpr bool has(u32 layer) const { return bits[layer / 32] >> layer % 32 & 1; }
  constexpr void add(u32 layer) { bits[layer / 32] |= 1u << layer % 32; }
  constexpr bool operator==(const layer_set&) const = default;

  static constexpr layer_set of(std::initializer_list<u32> layers) {
    layer_set s;
    for (const u32 layer : layers) s.add(layer);
    return s;
  }
  // Every layer but number n, 2n, ... (counted from 1).
  static constexpr layer_set all_but_every(u32 n) {
    layer_set s;
    for (u32 i = 0; i < most; ++i)
      if ((i + 1) % n) s.add(i);
    return s;
  }
  static constexpr layer_set up_to(u32 n) {
    layer_set s;
    for (u32 i = 0; i < n && i < most; ++i) s.add(i);
    return s;
  }
  // The members among the first n layers.
  constexpr layer_set first(u32 n) const {
    layer_set s;
    for (u32 i = 0; i < n; ++i)
      if (has(i)) s.add(i);
    return s;
  }
};

// The kind of each layer, for arrange<>: by its number, or the second of two for those in a set.
template <u32 Layers> constexpr std::array<u8, Layers> order_of(auto kind_of_layer) {
  std::array<u8, Layers> order{};
  for (u32 i = 0; i < Layers; ++i) order[i] = static_cast<u8>(kind_of_layer(i));
  return order;
}
template <u32 Layers> constexpr std::array<u8, Layers> order_of(layer_set second) {
  return order_of<Layers>([&](u32 layer) { return second.has(layer); });
}

}  // namespace cke

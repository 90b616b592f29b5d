// SPDX-License-Identifier: MIT
// tower_family.hpp: what families of vision towers share: keys of their configs, and the matrices of a layer.
#pragma once

#include "family.hpp"

namespace cke {

template <class C> struct tower_keys {
  using key = config_key<C>;
  static constexpr key dim = bind<&C::dim>("hidden_size").range(1, 1 << 20);
  static constexpr key hidden = bind<&C::hidden>("intermediate_size").range(1, 1 << 22);
  static constexpr key layers = bind<&C::layers>(either("num_hidden_layers", "depth")).range(1, layer_set::most);
  static constexpr key heads = bind<&C::heads>(either("num_attention_heads", "num_heads")).range(1, 4096);
  static constexpr key image = bind<&C::image>("image_size").range(1, 1 << 14);
  static constexpr key patch = bind<&C::patch>("patch_size").range(1, 1 << 10);
  static constexpr key channels = bind<&C::channels>(either("num_channels", "in_channels")).range(1, 64);
  static constexpr key eps = bind<&C::eps>("layer_norm_eps").range(1e-12, 1e-1);
};

// Beside what family.hpp lists:
//   patch_numbers(config)  of a patch
//   unread                 the beginnings of names of tensors that the tower does not use
template <class C> struct tower_family {
  using config = C;
  using key = tower_keys<C>;
  static constexpr C finish(C c) { return c; }
  static constexpr std::array<std::string_view, 0> unread{};
};

}  // namespace cke

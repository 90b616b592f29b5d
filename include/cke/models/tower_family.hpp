// SPDX-License-Identifier: MIT
// tower_family.hpp: what families of vision towers share: keys of their configs, and the matrices of a layer.
#pragma once

#include "family.hpp"

namespace cke {

inline constexpr const char* norm_eps_in_gguf = "clip.vision.attention.layer_norm_epsilon";

template <class C> struct tower_keys {
  using key = config_key<C>;
  static constexpr key dim = bind<&C::dim>("hidden_size", "clip.vision.embedding_length").range(1, 1 << 20);
  static constexpr key hidden =
      bind<&C::hidden>("intermediate_size", "clip.vision.feed_forward_length").range(1, 1 << 22);
  static constexpr key layers =
      bind<&C::layers>(either("num_hidden_layers", "depth"), "clip.vision.block_count").range(1, layer_set::most);
  static constexpr key heads =
      bind<&C::heads>(either("num_attention_heads", "num_heads"), "clip.vision.attention.head_count").range(1, 4096);
  static constexpr key image = bind<&C::image>("image_size", "clip.vision.image_size").range(1, 1 << 14);
  static constexpr key patch = bind<&C::patch>("patch_size", "clip.vision.patch_size").range(1, 1 << 10);
  static constexpr key channels = bind<&C::channels>(either("num_channels", "in_channels")).range(1, 64);
  static constexpr key eps = bind<&C::eps>("layer_norm_eps", norm_eps_in_gguf).range(1e-12, 1e-1);
  // Of the text model, whose rows these are.
  static constexpr key out = bind<&C::out>("text_config.hidden_size", "clip.vision.projection_dim").range(1, 1 << 20);
};

// What every mmproj file says: a file without the key is refused. io/gguf_vision.hpp derives what none says.
template <class C> constexpr C said_in_gguf(C c) {
  c.dim = c.hidden = c.layers = c.heads = c.patch = 0;
  if constexpr (requires { c.image; }) c.image = 0;
  if constexpr (requires { c.out; }) c.out = 0;
  if constexpr (requires { c.eps; }) c.eps = 0;
  return c;
}

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

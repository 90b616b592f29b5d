// SPDX-License-Identifier: MIT
// gemma3.hpp: how files spell Gemma 3's tower.
#pragma once

#include "../gemma3.hpp"
#include "siglip.hpp"

namespace cke {

template <> struct family<"gemma3_vision"> : tower_family<gemma3_vision_config> {
  template <config C> using type = gemma3_vision<C>;
  using presets = list<Gemma_3_4B_Vision>;
  static constexpr std::string_view name = "gemma3_vision", type_name = "cke::gemma3_vision";
  static constexpr config_key<config> keys[] = {
      key::dim,      key::hidden, key::layers,
      key::heads,    key::image,  key::patch,
      key::channels, key::eps,    bind<&config::tokens>("mm_tokens_per_image", "mm_tokens_per_image").range(1, 1 << 16),
      key::out};
  static constexpr requirement must_be[] = {{"hidden_act", "gelu_pytorch_tanh"}};
  static constexpr config defaults{}, gguf_defaults = said_in_gguf(defaults);
  static constexpr std::array<relation<config>, 3> relations{
      multiple_of<&config::dim, &config::heads>, at_most<&config::patch, &config::image>,
      relation<config>{
          member_name<&config::tokens>(),
          [](const config& c) { return c.rows() * c.rows() == c.tokens && c.image / c.patch % c.rows() == 0; },
          "the square of a number that divides image_size / patch_size"}};
  static constexpr u64 patch_numbers(const config& c) { return u64{c.channels} * c.patch * c.patch; }
  static constexpr auto names = siglip_names +
      std::array{footer_name(role::norm, 1, "multi_modal_projector.mm_soft_emb_norm", "mm.soft_emb_norm")
                     .in_gguf(change::plus_one),
                 footer_name(role::projector_down, exact("multi_modal_projector.mm_input_projection_weight"),
                             "mm.input_projection")
                     .in_hf(change::transposed)
                     .in_gguf(change::transposed)};
  static constexpr std::string_view unread[] = {"head."};  // the pooling head
};

}  // namespace cke

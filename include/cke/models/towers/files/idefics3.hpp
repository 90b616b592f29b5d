// SPDX-License-Identifier: MIT
// idefics3.hpp: how files spell the tower of Idefics 3 and SmolVLM.
#pragma once

#include "../idefics3.hpp"
#include "siglip.hpp"

namespace cke {

template <> struct family<"idefics3_vision"> : tower_family<idefics3_vision_config> {
  template <config C> using type = idefics3_vision<C>;
  using presets = list<SmolVLM2_500M_Vision>;
  static constexpr std::string_view name = "idefics3_vision", type_name = "cke::idefics3_vision";
  static constexpr config_key<config> keys[] = {
      key::dim,
      key::hidden,
      key::layers,
      key::heads,
      key::image,
      key::patch,
      key::channels,
      key::eps,
      bind<&config::merge>("scale_factor", "clip.vision.projector.scale_factor").range(1, 64),
      key::out};
  static constexpr requirement must_be[] = {{"hidden_act", "gelu_pytorch_tanh"}};
  static constexpr config defaults{}, gguf_defaults = said_in_gguf(defaults);
  static constexpr std::array<relation<config>, 3> relations{
      multiple_of<&config::dim, &config::heads>, at_most<&config::patch, &config::image>,
      relation<config>{member_name<&config::merge>(), [](const config& c) { return c.image / c.patch % c.merge == 0; },
                       "a divisor of image_size / patch_size"}};
  static constexpr u64 patch_numbers(const config& c) { return u64{c.channels} * c.patch * c.patch; }
  static constexpr auto names =
      siglip_names + std::array{footer_name(role::projector_down, "connector.modality_projection.proj", "mm.model.fc")};
};

}  // namespace cke

// SPDX-License-Identifier: MIT
// image_keys.hpp: keys of decoders that see images. What files nest elsewhere the readers put into the text's config.
#pragma once

#include <array>

#include "keys.hpp"

namespace cke {

template <class C> struct image_keys : shared_keys<C> {
  using key = config_key<C>;
  static constexpr key taps = bind<&C::taps>("deepstack_layers", "n_deepstack_layers").range(0, layer_set::most);
  // How many frequencies of the rope each axis turns.
  static constexpr key section_t =
      bind<&C::section_t>(element(0, "mrope_section"), element(0, "rope.dimension_sections")).range(0, 512);
  static constexpr key section_h =
      bind<&C::section_h>(element(1, "mrope_section"), element(1, "rope.dimension_sections")).range(0, 512);
  static constexpr key section_w =
      bind<&C::section_w>(element(2, "mrope_section"), element(2, "rope.dimension_sections")).range(0, 512);
  static constexpr key interleaved = bind<&C::interleaved>("mrope_interleaved").shown();

  // The axes turn all frequencies, or none is named. Without images nothing has a place on them.
  static constexpr bool axes_cover(const C& c) {
    if constexpr (requires { c.images; })
      if (!c.images) return true;
    const u32 sum = c.section_t + c.section_h + c.section_w;
    return sum == 0 || sum == (c.rope.dims ? c.rope.dims : c.head_dim) / 2;
  }
  static constexpr relation<C> sections_cover{member_name<&C::section_t>(), axes_cover,
                                              "sections that add up to half of the rotated dims of",
                                              member_name<&C::head_dim>()};
};

// What GGUF has of the axes; the fourth is of videos.
constexpr std::array<u32, 4> sections_in_gguf(const auto& c) { return {c.section_t, c.section_h, c.section_w, 0}; }

// The same of a family whose text models may have no tower.
template <class C> struct optional_image_keys {
  using key = config_key<C>;
  static constexpr key section_t = image_keys<C>::section_t.only_if(&C::images).shown();
  static constexpr key section_h = image_keys<C>::section_h.only_if(&C::images).shown();
  static constexpr key section_w = image_keys<C>::section_w.only_if(&C::images).shown();
};

}  // namespace cke

// SPDX-License-Identifier: MIT
// siglip.hpp: SigLIP's processor: the whole image at one size, whatever its aspect.
#pragma once

#include "../processor_config.hpp"

namespace cke::image {

struct siglip_processor {
  static constexpr std::string_view names[] = {"SiglipImageProcessor"};

  u32 height = 224, width = 224;
  bool resizes = true;
  filter resample = filter::bicubic;
  pixel_scale scale{};

  processed operator()(const picture& image, const std::string& name) const {
    if (!resizes) return {.tiles = {detail::as_image(image, scale.values())}};
    return {.tiles = {detail::as_image(detail::resized(image, width, height, resample, name), scale.values())}};
  }
};

namespace detail {

inline void read(siglip_processor& p, config_reader& in) {
  const auto size = in.height_and_width(in.at("size"), {p.height, p.width}, false);
  p.height = size[0], p.width = size[1];
  in.bound("size", {p.width, p.height});
  p.resizes = in.flag("do_resize", p.resizes);
  p.resample = in.resample(p.resample);
  in.scale(p.scale);
}

}  // namespace detail
}  // namespace cke::image

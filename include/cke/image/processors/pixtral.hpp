// SPDX-License-Identifier: MIT
// pixtral.hpp: the processor of Pixtral and Mistral 3: aspect kept, sides that are multiples of merged patches.
#pragma once

#include "../processor_config.hpp"

namespace cke::image {

struct pixtral_processor {
  static constexpr std::string_view names[] = {"PixtralImageProcessor"};

  u32 most_height = 1024, most_width = 1024;
  u32 patch_height = 16, patch_width = 16, merge = 1;
  bool resizes = true;
  filter resample = filter::bicubic;
  pixel_scale scale{.mean = {0.48145466, 0.4578275, 0.40821073}, .std = {0.26862954, 0.26130258, 0.27577711}};

  // [3, height, width], with the grid in patches.
  processed operator()(const picture& image, const std::string& name) const {
    picture sized;
    if (resizes) {
      const auto [height, width] = size_for(image);
      sized = detail::resized(image, width, height, resample, name);
    }
    const picture& now = resizes ? sized : image;
    pixels out = detail::as_image(now, scale.values());
    out.grid_h = now.height / patch_height, out.grid_w = now.width / patch_width;
    return {.tiles = {std::move(out)}};
  }

 private:
  std::array<double, 2> size_for(const picture& image) const {
    double h = image.height, w = image.width;
    const double ratio = std::max(h / most_height, w / most_width);
    if (ratio > 1) h = std::floor(h / ratio), w = std::floor(w / ratio);
    const auto up = [](double v, double block) { return std::ceil(v / block) * block; };
    return {up(h, patch_height * merge), up(w, patch_width * merge)};
  }
};

namespace detail {

inline void read(pixtral_processor& p, config_reader& in) {
  const auto size = in.at("size");
  if (!size.null() && !size["longest_edge"].null()) {
    p.most_height = p.most_width = in.longest_edge(size, 0);
  } else {
    const auto most = in.height_and_width(size, {p.most_height, p.most_width}, true);
    p.most_height = most[0], p.most_width = most[1];
  }
  const auto patch = in.height_and_width(in.at("patch_size"), {p.patch_height, p.patch_width}, true);
  p.patch_height = patch[0], p.patch_width = patch[1];
  p.resizes = in.flag("do_resize", p.resizes);
  p.resample = in.resample(p.resample);
  in.scale(p.scale);
}

}  // namespace detail
}  // namespace cke::image

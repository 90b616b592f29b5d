// SPDX-License-Identifier: MIT
// gemma4.hpp: Gemma 4's processor: aspect kept, as many patches as fit, padded to a fixed number of rows.
#pragma once

#include "../processor_config.hpp"

namespace cke::image {

struct gemma4_processor {
  static constexpr std::string_view names[] = {"Gemma4ImageProcessor"};

  u32 patch = 16, soft_tokens = 280, pool = 3;
  bool resizes = true;
  filter resample = filter::bicubic;
  pixel_scale scale{.normalize = false, .mean = {0, 0, 0}, .std = {1, 1, 1}};

  // [soft_tokens * pool^2, patch * patch * 3]; row i < grid_h * grid_w is the patch at (i / grid_w, i % grid_w).
  processed operator()(const picture& image, const std::string& name) const {
    const u32 rows = soft_tokens * pool * pool;
    if (!resizes) return {.tiles = {detail::as_patch_rows(image, scale.values(), patch, rows, name)}};
    const auto [height, width] = size_for(image, name);
    const picture sized = detail::resized(image, width, height, resample, name);
    return {.tiles = {detail::as_patch_rows(sized, scale.values(), patch, rows, name)}};
  }

 private:
  std::array<double, 2> size_for(const picture& image, const std::string& name) const {
    const double h = image.height, w = image.width, side = pool * patch;
    const double budget = static_cast<double>(u64{soft_tokens} * pool * pool * patch * patch);
    const double factor = std::sqrt(budget / (h * w));
    double height = std::floor(factor * h / side) * side, width = std::floor(factor * w / side) * side;
    const double longest = soft_tokens * side;
    if (height == 0 && width == 0) detail::bad_shape(name, image, concat({"room for ", side_text(), " pixels"}));
    if (height == 0) height = side, width = std::min(std::floor(w / h) * side, longest);
    else if (width == 0) width = side, height = std::min(std::floor(h / w) * side, longest);
    if (height * width > budget)
      detail::bad_shape(name, image, concat({"an image of at most ", soft_tokens, " pooled patches"}));
    return {height, width};
  }
  std::string side_text() const { return concat({pool * patch, " x ", pool * patch}); }
};

namespace detail {

inline void read(gemma4_processor& p, config_reader& in) {
  p.patch = in.number("patch_size", p.patch, 1, 1024);
  p.pool = in.number("pooling_kernel_size", p.pool, 1, 64);
  p.soft_tokens = in.number("max_soft_tokens", p.soft_tokens, 70, 1120);
  constexpr std::array<u32, 5> known{70, 140, 280, 560, 1120};
  in.at("max_soft_tokens").require(std::ranges::find(known, p.soft_tokens) != known.end(), "70, 140, 280, 560 or 1120");
  in.bound("patch_size", {p.soft_tokens, p.pool, p.pool, p.patch, p.patch});
  in.at("size");  // transformers does not use it
  p.resizes = in.flag("do_resize", p.resizes);
  p.resample = in.resample(p.resample);
  in.scale(p.scale);
}

}  // namespace detail
}  // namespace cke::image

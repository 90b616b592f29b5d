// SPDX-License-Identifier: MIT
// qwen2_vl.hpp: the processor of Qwen2.5-VL, Qwen3-VL and Qwen3.5: any size, as patches in blocks that are merged.
#pragma once

#include "qwen_blocks.hpp"

namespace cke::image {

struct qwen2_vl_processor {
  static constexpr std::string_view names[] = {"Qwen2VLImageProcessor"};

  u32 patch = 14, temporal_patch = 2, merge = 2;
  u64 least_pixels = 56 * 56, most_pixels = 28 * 28 * 1280;
  bool resizes = true;
  filter resample = filter::bicubic;
  pixel_scale scale{.mean = {0.48145466, 0.4578275, 0.40821073}, .std = {0.26862954, 0.26130258, 0.27577711}};

  // [grid_h * grid_w, 3 * temporal_patch * patch * patch]; a still image is the same at all times of a patch.
  processed operator()(const picture& image, const std::string& name) const {
    if (!resizes) return {.tiles = {detail::merge_blocks(*this, {&image, 1}, name)}};
    const double h = image.height, w = image.width;
    detail::check_aspect(image, h, w, name);
    const auto [height, width] = detail::smart_resize(h, w, 1, 1, patch * merge, static_cast<double>(least_pixels),
                                                      static_cast<double>(most_pixels));
    const picture sized = detail::resized(image, width, height, resample, name);
    return {.tiles = {detail::merge_blocks(*this, {&sized, 1}, name)}};
  }
};

namespace detail {

inline void read(qwen2_vl_processor& p, config_reader& in) { read_blocks(p, in); }

}  // namespace detail
}  // namespace cke::image

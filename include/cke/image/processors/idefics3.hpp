// SPDX-License-Identifier: MIT
// idefics3.hpp: the processor of Idefics3 and SmolVLM: square tiles of a grid, and the whole image as one more.
#pragma once

#include "../processor_config.hpp"

namespace cke::image {

struct idefics3_processor {
  static constexpr std::string_view names[] = {"Idefics3ImageProcessor", "SmolVLMImageProcessor"};

  u32 longest_edge = 4 * 364, tile = 364;  // pixels
  bool resizes = true, splits = true;
  filter resample = filter::lanczos;
  pixel_scale scale{};

  // Tiles row by row, then the whole image; of a small image the whole alone.
  processed operator()(const picture& image, const std::string& name) const {
    const auto table = scale.values();
    const std::array<double, 2> square{static_cast<double>(tile), static_cast<double>(tile)};
    const auto sized = [&](const picture& p, std::array<double, 2> to) {
      return detail::resized(p, to[1], to[0], resample, name);
    };
    picture now = resizes ? sized(image, to_longest_edge(image)) : image;
    if (!splits) return {.tiles = {detail::as_image(sized(now, square), table)}};
    now = sized(now, to_tiles(now));
    if (now.height <= tile && now.width <= tile) return {.tiles = {detail::as_image(now, table)}};
    processed out{.tiles = {}, .rows = now.height / tile, .cols = now.width / tile};
    for (u32 r = 0; r < out.rows; ++r)
      for (u32 c = 0; c < out.cols; ++c)
        out.tiles.push_back(detail::as_image(detail::crop(now, c * tile, r * tile, tile, tile), table));
    out.whole = out.rows * out.cols;
    out.tiles.push_back(detail::as_image(sized(now, square), table));
    return out;
  }

 private:
  // The longer side becomes longest_edge, the other even; none is above 4096.
  std::array<double, 2> to_longest_edge(const picture& image) const {
    double h = image.height, w = image.width, ratio = w / h;
    const auto even = [](double v) { return v + std::fmod(v, 2); };
    if (w >= h) w = longest_edge, h = even(std::trunc(w / ratio));
    else h = longest_edge, w = even(std::trunc(h * ratio));
    h = std::max(h, 1.0), w = std::max(w, 1.0);
    constexpr double most = 4096;
    ratio = w / h;
    if (w >= h && w > most) w = most, h = std::trunc(w / ratio);
    else if (h > w && h > most) h = most, w = std::trunc(h * ratio);
    return {std::max(h, 1.0), std::max(w, 1.0)};
  }
  std::array<double, 2> to_tiles(const picture& image) const {
    double h = image.height, w = image.width;
    const double ratio = w / h;
    const auto up = [&](double v) { return std::ceil(v / tile) * tile; };
    if (w >= h) w = up(w), h = up(std::trunc(w / ratio));
    else h = up(h), w = up(std::trunc(h * ratio));
    return {h, w};
  }
};

namespace detail {

inline void read(idefics3_processor& p, config_reader& in) {
  p.longest_edge = in.longest_edge(in.at("size"), p.longest_edge);
  p.tile = in.longest_edge(in.at("max_image_size"), p.tile);
  in.bound("max_image_size", {p.tile, p.tile});
  p.splits = in.flag("do_image_splitting", p.splits);
  in.at("return_row_col_info");
  in.at("video_sampling");
  p.resizes = in.flag("do_resize", p.resizes);
  p.resample = in.resample(p.resample);
  in.scale(p.scale);
}

}  // namespace detail
}  // namespace cke::image

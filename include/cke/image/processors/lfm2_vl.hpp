// SPDX-License-Identifier: MIT
// lfm2_vl.hpp: LFM2-VL's processor: one image of any aspect, or tiles of a grid and a thumbnail.
#pragma once

#include "../processor_config.hpp"

namespace cke::image {

struct lfm2_vl_processor {
  static constexpr std::string_view names[] = {"Lfm2VlImageProcessor"};

  u32 patch = 16, downsample = 2, tile = 512;
  u32 least_tiles = 2, most_tiles = 10, least_tokens = 64, most_tokens = 256;
  double tolerance = 2;
  bool splits = true, thumbnail = true, pads = true;
  filter resample = filter::bilinear;
  pixel_scale scale{.fused = true};

  // transformers has this processor for torchvision alone. Each [rows, patch * patch * 3], padded with zeros where the
  // config says so.
  processed operator()(const picture& image, const std::string& name) const {
    const auto table = scale.values();
    const u32 rows =
        pads ? std::max(most_tokens * downsample * downsample, splits ? (tile / patch) * (tile / patch) : 0) : 0;
    const auto shown = [&](const picture& p) { return detail::as_patch_rows(p, table, patch, rows, name); };
    const auto [height, width] = whole_size(image);
    const auto sized = [&](double w, double h) {
      return detail::resized(image, w, h, resample, name, resize_rule::torch);
    };
    const auto whole = [&] { return shown(sized(width, height)); };
    if (!is_large(image) || !splits || (least_tiles == 1 && most_tiles == 1)) return {.tiles = {whole()}};

    const auto [cols, lines] = grid_for(image);
    const double side = tile;
    const picture cut = sized(side * cols, side * lines);
    processed out{.tiles = {}, .rows = lines, .cols = cols, .whole = lines * cols};
    for (u32 r = 0; r < lines; ++r)
      for (u32 c = 0; c < cols; ++c) out.tiles.push_back(shown(detail::crop(cut, c * tile, r * tile, tile, tile)));
    if (thumbnail && lines * cols > 1) out.tiles.push_back(whole());
    if (out.tiles.back().shape != out.tiles.front().shape)
      detail::bad_shape(name, image, concat({"a thumbnail of at most ", rows, " patches"}));
    return out;
  }

 private:
  double block() const { return patch * downsample; }
  double pixels_of(double tokens) const { return tokens * patch * patch * downsample * downsample; }
  double rounded(double v) const { return std::nearbyint(v / block()) * block(); }

  bool is_large(const picture& image) const {
    const double h = std::max<double>(patch, rounded(image.height)), w = std::max<double>(patch, rounded(image.width));
    return h * w > pixels_of(most_tokens) * tolerance;
  }
  std::array<double, 2> whole_size(const picture& image) const {
    const double h = image.height, w = image.width, most = pixels_of(most_tokens), least = pixels_of(least_tokens);
    double height = std::max(block(), rounded(h)), width = std::max(block(), rounded(w));
    if (height * width > most) {
      const double beta = std::sqrt(h * w / most);
      height = std::max(block(), std::floor(h / beta / block()) * block());
      width = std::max(block(), std::floor(w / beta / block()) * block());
    } else if (height * width < least) {
      const double beta = std::sqrt(least / (h * w));
      height = std::ceil(h * beta / block()) * block();
      width = std::ceil(w * beta / block()) * block();
    }
    return {height, width};
  }
  // Columns and rows whose aspect is closest; of equally close ones a later one if the image has pixels for it.
  std::array<u32, 2> grid_for(const picture& image) const {
    const double aspect = static_cast<double>(image.width) / image.height;
    const double area = static_cast<double>(image.width) * image.height;
    std::array<u32, 2> best{1, 1};
    double closest = HUGE_VAL;
    for (u32 tiles = least_tiles; tiles <= most_tiles; ++tiles)
      for (u32 w = 1; w <= tiles; ++w) {
        if (tiles % w) continue;
        const double apart = std::fabs(aspect - static_cast<double>(w) / (tiles / w));
        const bool closer = apart < closest, as_close = apart == closest;
        if (closer || (as_close && area > 0.5 * tile * tile * tiles)) best = {w, tiles / w};
        closest = std::min(closest, apart);
      }
    return best;
  }
};

namespace detail {

inline void read(lfm2_vl_processor& p, config_reader& in) {
  p.patch = in.number("encoder_patch_size", p.patch, 1, 1024);
  p.downsample = in.number("downsample_factor", p.downsample, 1, 64);
  p.tile = in.number("tile_size", p.tile, 1, 16384);
  p.least_tiles = in.number("min_tiles", p.least_tiles, 1, 256);
  p.most_tiles = in.number("max_tiles", p.most_tiles, 1, 256);
  p.least_tokens = in.number("min_image_tokens", p.least_tokens, 1, 65536);
  p.most_tokens = in.number("max_image_tokens", p.most_tokens, 1, 65536);
  p.tolerance = in.real(in.at("max_pixels_tolerance"), p.tolerance);
  p.splits = in.flag("do_image_splitting", p.splits);
  p.thumbnail = in.flag("use_thumbnail", p.thumbnail);
  p.pads = in.flag("do_pad", p.pads);
  p.resample = in.resample(p.resample);
  in.scale(p.scale);
  // Keys that transformers derives or does not use.
  for (const char* key : {"size", "do_resize", "max_num_patches", "return_row_col_info"}) in.at(key);
  in.bound("max_image_tokens", {p.most_tokens, p.downsample, p.downsample, p.patch, p.patch, p.most_tiles + 1});
  in.bound("tile_size", {p.tile, p.tile, p.most_tiles + 1});
  if (p.splits && p.least_tiles > p.most_tiles)
    in.at("max_tiles").mismatch(concat({"at least min_tiles, ", p.least_tiles}), concat({p.most_tiles}));
  if (p.tile % p.patch) in.at("tile_size").mismatch(concat({"a multiple of encoder_patch_size, ", p.patch}));
}

}  // namespace detail

}  // namespace cke::image

// SPDX-License-Identifier: MIT
// gemma3.hpp: Gemma 3's processor: the whole image at one size, and with pan and scan also crops of a long one.
#pragma once

#include "../processor_config.hpp"

namespace cke::image {

struct gemma3_processor {
  static constexpr std::string_view names[] = {"Gemma3ImageProcessor"};

  u32 height = 224, width = 224;
  bool resizes = true;
  filter resample = filter::bilinear;
  pixel_scale scale{};
  bool pan_and_scan = false;
  u32 least_crop = 1, most_crops = 1;  // pixels of a side; how many
  double least_ratio = 1;              // of the longer side to the shorter one

  // The whole image first, then its crops in one row or one column.
  processed operator()(const picture& image, const std::string& name) const {
    const auto table = scale.values();
    const auto shown = [&](const picture& p) {
      return detail::as_image(resizes ? detail::resized(p, width, height, resample, name) : p, table);
    };
    processed out{.tiles = {shown(image)}};
    if (const u32 crops = pan_and_scan ? crop_count(image) : 0) {
      const bool wide = image.width >= image.height;
      out.cols = wide ? crops : 1, out.rows = wide ? 1 : crops;
      const u32 w = ceil_div(image.width, out.cols), h = ceil_div(image.height, out.rows);
      if (u64{w} * (out.cols - 1) >= image.width || u64{h} * (out.rows - 1) >= image.height)
        detail::bad_shape(name, image, concat({"at least a pixel in each of ", crops, " crops"}));
      for (u32 i = 0; i < crops; ++i)
        out.tiles.push_back(shown(detail::crop(image, wide ? i * w : 0, wide ? 0 : i * h, w, h)));
    }
    return out;
  }

 private:
  u32 crop_count(const picture& image) const {
    const u32 longer = std::max(image.width, image.height), shorter = std::min(image.width, image.height);
    const double ratio = static_cast<double>(longer) / shorter;
    if (ratio < least_ratio) return 0;
    const u32 wanted = std::min(longer / least_crop, static_cast<u32>(std::floor(ratio + 0.5)));
    const u32 count = std::min(most_crops, std::max(2u, wanted));
    return std::min(ceil_div(longer, count), shorter) < least_crop ? 0 : count;
  }
};

namespace detail {

inline void read(gemma3_processor& p, config_reader& in) {
  const auto size = in.height_and_width(in.at("size"), {p.height, p.width}, true);
  p.height = size[0], p.width = size[1];
  p.resizes = in.flag("do_resize", p.resizes);
  p.resample = in.resample(p.resample);
  in.scale(p.scale);
  p.pan_and_scan = in.flag("do_pan_and_scan", false);
  p.least_crop = in.number("pan_and_scan_min_crop_size", p.least_crop, 1, 16384);
  p.most_crops = in.number("pan_and_scan_max_num_crops", p.most_crops, 1, 256);
  p.least_ratio = in.real(in.at("pan_and_scan_min_ratio_to_activate"), p.least_ratio);
  in.bound("size", {p.width, p.height, p.pan_and_scan ? p.most_crops + 1 : 1});
  if (p.pan_and_scan)
    for (const char* key :
         {"pan_and_scan_min_crop_size", "pan_and_scan_max_num_crops", "pan_and_scan_min_ratio_to_activate"})
      if (!in.has(key)) in.at(key).mismatch("a number, as do_pan_and_scan is true");
}

}  // namespace detail
}  // namespace cke::image

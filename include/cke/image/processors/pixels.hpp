// SPDX-License-Identifier: MIT
// pixels.hpp: the numbers that a vision tower takes, and how 8-bit pixels become them.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "../resize.hpp"

namespace cke::image {

// One tensor of pixel_values, without its batch dimension. The grid counts patches (t, rows, columns); a processor
// that hands out a plain image, [3, height, width], and does not know the tower's patches leaves rows and columns 0.
struct pixels {
  std::vector<u32> shape;
  std::vector<float> values;
  u32 grid_t = 1, grid_h = 0, grid_w = 0;
};

// What becomes of one image. One that is cut has tiles in rows and columns, and mostly one more for the whole image.
struct processed {
  std::vector<pixels> tiles;
  u32 rows = 0, cols = 0;  // 0 x 0: the image was not cut
  u32 whole = 0;           // which tile shows the whole image; tiles.size(): none
};

// v -> (v * factor - mean) / std in float32, as numpy rounds it, for every 8-bit v of every channel.
struct pixel_scale {
  bool rescale = true, normalize = true;
  double factor = 1.0 / 255;
  std::array<double, 3> mean{0.5, 0.5, 0.5}, std{0.5, 0.5, 0.5};
  bool fused = false;  // torchvision's processors: (v - mean / factor) / (std / factor)

  using table = std::array<std::array<float, 256>, 3>;
  table values() const {
    table t{};
    for (u32 c = 0; c < 3; ++c)
      for (u32 v = 0; v < 256; ++v) {
        const auto m = static_cast<float>(mean[c]), s = static_cast<float>(std[c]), plain = static_cast<float>(v);
        if (fused && rescale && normalize) {
          const auto inverse = static_cast<float>(1.0 / factor);
          t[c][v] = (plain - m * inverse) / (s * inverse);
        } else {
          const float x = !rescale ? plain
              : fused              ? plain * static_cast<float>(factor)
                                   : static_cast<float>(v * factor);
          t[c][v] = normalize ? (x - m) / s : x;
        }
      }
    return t;
  }
};

namespace detail {

constexpr u64 most_pixels = 1 << 25;  // that a tower gets of one image: 400 MB of float32

// Throws Error{config_range}: an image's sides do not suit this processor.
[[noreturn, gnu::cold]] inline void bad_shape(const std::string& name, const picture& p, std::string_view expected) {
  throw Error(errc::config_range, name, "image", expected, concat({p.width, " x ", p.height}));
}

// A resize to a size that was computed from the image's.
inline picture resized(const picture& from, double width, double height, filter f, const std::string& name,
                       resize_rule rule = resize_rule::pillow) {
  if (!(width >= 1 && height >= 1)) bad_shape(name, from, "sides of which at least a pixel is left");
  if (!(width * height <= static_cast<double>(most_pixels)))
    bad_shape(name, from, concat({"an image that becomes at most ", most_pixels, " pixels"}));
  return resize(from, static_cast<u32>(width), static_cast<u32>(height), f, rule);
}

// The part from (x, y) on, at most that large; there is at least one pixel.
inline picture crop(const picture& from, u32 x, u32 y, u32 width, u32 height) {
  picture to{std::min(width, from.width - x), std::min(height, from.height - y), {}};
  to.rgb.resize(u64{to.width} * to.height * 3);
  for (u64 row = 0; row < to.height; ++row) {
    const u8* in = from.rgb.data() + ((y + row) * from.width + x) * 3;
    std::copy(in, in + u64{to.width} * 3, to.rgb.data() + row * to.width * 3);
  }
  return to;
}

// [3, height, width]
inline pixels as_image(const picture& p, const pixel_scale::table& table) {
  pixels out{.shape = {3, p.height, p.width}, .values = {}};
  const u64 plane = u64{p.width} * p.height;
  out.values.resize(plane * 3);
  for (u32 c = 0; c < 3; ++c)
    for (u64 i = 0; i < plane; ++i) out.values[c * plane + i] = table[c][p.rgb[3 * i + c]];
  return out;
}

// [rows, patch * patch * 3]: patches in raster order, each (row, column, channel); rows after the last are zero.
inline pixels as_patch_rows(const picture& p, const pixel_scale::table& table, u32 patch, u32 rows,
                            const std::string& name) {
  const u32 gh = p.height / patch, gw = p.width / patch;
  if (p.height % patch || p.width % patch) bad_shape(name, p, concat({"multiples of ", patch, " pixels"}));
  if (u64{gh} * gw > rows) rows = gh * gw;
  const u64 size = u64{patch} * patch * 3;
  pixels out{.shape = {rows, patch * patch * 3}, .values = {}, .grid_h = gh, .grid_w = gw};
  out.values.resize(rows * size);
  for (u64 y = 0; y < p.height; ++y)
    for (u64 x = 0; x < p.width; ++x) {
      const u64 to = (y / patch * gw + x / patch) * size + (y % patch * patch + x % patch) * 3;
      for (u64 c = 0; c < 3; ++c) out.values[to + c] = table[c][p.rgb[(y * p.width + x) * 3 + c]];
    }
  return out;
}

}  // namespace detail
}  // namespace cke::image

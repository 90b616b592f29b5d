// SPDX-License-Identifier: MIT
// orientation.hpp: the orientation tag of EXIF and XMP, and pictures turned by it.
#pragma once

#include <algorithm>
#include <utility>

#include "byte_reader.hpp"
#include "picture.hpp"

namespace cke::image::detail {

// Tag 0x0112 of the first directory of an EXIF block, which is a TIFF file perhaps after "Exif\0\0"; 0 if there is
// none. A broken block has none: what a photo shows does not depend on its metadata being whole.
inline u32 exif_orientation(bytes exif) {
  using namespace std::string_view_literals;
  for (int i = 0; i < 2 && starts_with(exif, "Exif\0\0"sv); ++i) exif = exif.subspan(6);
  if (exif.size() < 8) return 0;
  const bool little = starts_with(exif, "II");
  if (!little && !starts_with(exif, "MM")) return 0;
  const auto u16_at = [&](u64 at) { return little ? little16(exif, at) : big16(exif, at); };
  const auto u32_at = [&](u64 at) { return little ? little32(exif, at) : big32(exif, at); };
  const u64 directory = u32_at(4);
  if (u16_at(2) != 42 || !fits(directory, 2, exif.size())) return 0;
  const u32 entries = u16_at(directory);
  for (u32 i = 0; i < entries; ++i) {
    const u64 at = directory + 2 + u64{12} * i;
    if (!fits(at, 12, exif.size())) return 0;
    if (u16_at(at) != 0x0112 || u32_at(at + 4) != 1) continue;
    const u32 type = u16_at(at + 2);
    if (type == 3) return u16_at(at + 8);
    if (type == 4) return u32_at(at + 8);
  }
  return 0;
}

// XMP spells it tiff:Orientation="6" or <tiff:Orientation>6<.
inline u32 xmp_orientation(bytes xmp) {
  const std::string_view text(reinterpret_cast<const char*>(xmp.data()), xmp.size());
  constexpr std::string_view key = "tiff:Orientation";
  for (std::size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
    const std::string_view rest = text.substr(at + key.size());
    const std::size_t skip = rest.starts_with("=\"") ? 2 : rest.starts_with('>') ? 1 : 0;
    if (skip && rest.size() > skip && rest[skip] >= '0' && rest[skip] <= '9') return static_cast<u32>(rest[skip] - '0');
  }
  return 0;
}

// What the file says of its orientation; XMP counts where EXIF says nothing.
struct metadata {
  u32 exif = 0, xmp = 0;
  u32 orientation() const { return exif ? exif : xmp; }
};

// Orientations 2 to 8 of EXIF; any other number leaves the picture as it is.
inline picture upright(picture from, u32 orientation) {
  if (orientation < 2 || orientation > 8) return from;
  const bool swapped = orientation >= 5;  // rows become columns
  const u32 w = from.width, h = from.height;
  picture to{swapped ? h : w, swapped ? w : h, {}};
  to.rgb.resize(from.rgb.size());
  // Output (x, y) shows input (ix, iy): by the corner at which the input's first row and column come to lie.
  const bool flip_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool flip_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  constexpr u32 tile = 32;  // keeps both pictures in cache when columns are read
  for (u32 y0 = 0; y0 < to.height; y0 += tile)
    for (u32 x0 = 0; x0 < to.width; x0 += tile)
      for (u32 y = y0; y < std::min(y0 + tile, to.height); ++y)
        for (u32 x = x0; x < std::min(x0 + tile, to.width); ++x) {
          u32 ix = swapped ? y : x, iy = swapped ? x : y;
          if (flip_x) ix = w - 1 - ix;
          if (flip_y) iy = h - 1 - iy;
          const u8* pixel = from.rgb.data() + (u64{iy} * w + ix) * 3;
          std::copy(pixel, pixel + 3, to.rgb.data() + (u64{y} * to.width + x) * 3);
        }
  return to;
}

}  // namespace cke::image::detail

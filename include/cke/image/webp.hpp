// SPDX-License-Identifier: MIT
// webp.hpp: decodes WebP with libwebp; of an animation, its first frame.
#pragma once

#include <webp/decode.h>
#include <webp/demux.h>

#include <memory>

#include "color.hpp"
#include "orientation.hpp"

namespace cke::image::detail {

inline metadata webp_metadata(bytes file) {
  metadata found;
  for (u64 at = 12; fits(at, 8, file.size());) {
    const u64 size = little32(file, at + 4);
    if (!fits(at + 8, size, file.size())) break;
    if (starts_with(file, "EXIF", at)) found.exif = exif_orientation(file.subspan(at + 8, size));
    if (starts_with(file, "XMP ", at)) found.xmp = xmp_orientation(file.subspan(at + 8, size));
    at += 8 + size + size % 2;
  }
  return found;
}

inline picture decode_webp(bytes file, const std::string& name, const decode_limits& limits) {
  const auto* data = reinterpret_cast<const u8*>(file.data());
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(data, file.size(), &features) != VP8_STATUS_OK) malformed(name, "WebP", "a readable header");
  check_size(static_cast<u64>(features.width), static_cast<u64>(features.height), limits, name);
  picture out{static_cast<u32>(features.width), static_cast<u32>(features.height), {}};
  const u64 pixels = u64{out.width} * out.height;
  const auto decoded = [&](const u8* good) {
    if (!good) malformed(name, "WebP", "an image", "damaged or missing data");
    return good;
  };

  if (!features.has_alpha && !features.has_animation) {
    out.rgb.resize(pixels * 3);
    decoded(WebPDecodeRGBInto(data, file.size(), out.rgb.data(), out.rgb.size(), static_cast<int>(out.width * 3)));
  } else {
    std::vector<u8> still;
    std::unique_ptr<WebPAnimDecoder, decltype(&WebPAnimDecoderDelete)> animation(nullptr, &WebPAnimDecoderDelete);
    const u8* canvas = nullptr;
    if (features.has_animation) {
      const WebPData whole{data, file.size()};
      animation.reset(WebPAnimDecoderNew(&whole, nullptr));
      u8* frame = nullptr;
      int when = 0;
      if (animation && WebPAnimDecoderGetNext(animation.get(), &frame, &when)) canvas = frame;
      decoded(canvas);
    } else {
      still.resize(pixels * 4);
      canvas =
          decoded(WebPDecodeRGBAInto(data, file.size(), still.data(), still.size(), static_cast<int>(out.width * 4)));
    }
    out.rgb.resize(pixels * 3);
    for (u64 i = 0; i < pixels; ++i) {
      const u8* p = canvas + 4 * i;
      if (features.has_alpha) put_over_white(&out.rgb[3 * i], {p[0], p[1], p[2], p[3]});
      else put(&out.rgb[3 * i], p[0], p[1], p[2]);
    }
  }
  return upright(std::move(out), webp_metadata(file).orientation());
}

}  // namespace cke::image::detail

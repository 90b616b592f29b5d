// SPDX-License-Identifier: MIT
// picture.hpp: an image in memory, and the limit that is checked before one is decoded.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "../core/concat.hpp"
#include "../core/error.hpp"

namespace cke::image {

// 8-bit RGB, interleaved, rows from the top: height * width * 3 bytes.
struct picture {
  u32 width = 0, height = 0;
  std::vector<u8> rgb;
};

struct decode_limits {
  u64 pixels = 89'478'485;  // where Pillow begins to warn: a quarter of a GB, in RGB
  u32 side = 1 << 20;       // resizing a longer side would take more memory than the pixels do
  u32 scans = 100;          // of a progressive JPEG; each is a pass over all pixels
};

namespace detail {

// Throws Error{malformed} for a side of 0, Error{config_range} for more pixels than the limit. Called with the size
// that a header claims, before anything is allocated for it.
inline void check_size(u64 width, u64 height, const decode_limits& limits, const std::string& name) {
  const std::string size = concat({width, " x ", height});
  if (width == 0 || height == 0) throw Error(errc::malformed, name, "size", "at least 1 x 1 pixels", size);
  u64 pixels;
  if (!checked_mul(width, height, pixels) || pixels > limits.pixels)
    throw Error(errc::config_range, name, "size", concat({"at most ", limits.pixels, " pixels"}), size);
  if (std::max(width, height) > limits.side)
    throw Error(errc::config_range, name, "size", concat({"sides of at most ", limits.side, " pixels"}), size);
}

}  // namespace detail
}  // namespace cke::image

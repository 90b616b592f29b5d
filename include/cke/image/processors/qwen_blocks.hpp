// SPDX-License-Identifier: MIT
// qwen_blocks.hpp: what Qwen's processors of images and of videos share: sizes, and patches in blocks that are merged.
#pragma once

#include <span>

#include "../processor_config.hpp"

namespace cke::image::detail {

// Height and width in multiples of a block, of about the same aspect, so that `rounded_frames` of them have at least
// and at most so many pixels. Ties go to even numbers, as Python rounds.
inline std::array<double, 2> smart_resize(double h, double w, double frames, double rounded_frames, double block,
                                          double least, double most) {
  double height = std::nearbyint(h / block) * block, width = std::nearbyint(w / block) * block;
  if (rounded_frames * height * width > most) {
    const double beta = std::sqrt(frames * h * w / most);
    height = std::max(block, std::floor(h / beta / block) * block);
    width = std::max(block, std::floor(w / beta / block) * block);
  } else if (rounded_frames * height * width < least) {
    const double beta = std::sqrt(least / (frames * h * w));
    height = std::ceil(h * beta / block) * block;
    width = std::ceil(w * beta / block) * block;
  }
  return {height, width};
}

inline void check_aspect(const picture& image, double h, double w, const std::string& name) {
  if (std::max(h, w) / std::min(h, w) > 200) bad_shape(name, image, "sides of at most 200 to 1");
}

// Frames of one size, in order; the last is repeated until they fill patches in time. Rows are ordered by time, block
// row, block column, row in the block, column in the block; a row by channel, time, y, x. P has patch, temporal_patch,
// merge and scale.
template <class P> pixels merge_blocks(const P& p, std::span<const picture> frames, const std::string& name) {
  const u32 height = frames[0].height, width = frames[0].width, block = p.patch * p.merge;
  if (height % block || width % block) bad_shape(name, frames[0], concat({"multiples of ", block, " pixels"}));
  const u32 gt = ceil_div(static_cast<u32>(frames.size()), p.temporal_patch);
  const u32 gh = height / p.patch, gw = width / p.patch, row = 3 * p.temporal_patch * p.patch * p.patch;
  pixels out{.shape = {gt * gh * gw, row}, .values = {}, .grid_t = gt, .grid_h = gh, .grid_w = gw};
  out.values.resize(u64{gt} * gh * gw * row);
  const auto table = p.scale.values();
  float* to = out.values.data();
  for (u32 t = 0; t < gt; ++t)
    for (u32 by = 0; by < gh; by += p.merge)
      for (u32 bx = 0; bx < gw; bx += p.merge)
        for (u32 i = 0; i < p.merge * p.merge; ++i) {
          const u64 y0 = u64{by + i / p.merge} * p.patch, x0 = u64{bx + i % p.merge} * p.patch;
          for (u32 c = 0; c < 3; ++c)
            for (u32 dt = 0; dt < p.temporal_patch; ++dt) {
              const picture& frame = frames[std::min<u64>(u64{t} * p.temporal_patch + dt, frames.size() - 1)];
              for (u64 y = y0; y < y0 + p.patch; ++y)
                for (u64 x = x0; x < x0 + p.patch; ++x) *to++ = table[c][frame.rgb[(y * width + x) * 3 + c]];
            }
        }
  return out;
}

template <class P> void read_blocks(P& p, config_reader& in) {
  constexpr u64 most = u64{1} << 32;
  p.patch = in.number("patch_size", p.patch, 1, 1024);
  p.temporal_patch = in.number("temporal_patch_size", p.temporal_patch, 1, 8);
  p.merge = in.number("merge_size", p.merge, 1, 64);
  // Pixels, though the keys say edges. Older files spell them min_pixels and max_pixels, which count before the others.
  const auto size = in.at("size");
  if (!size.null()) {
    in.only(size, {"shortest_edge", "longest_edge", "min_pixels", "max_pixels"});
    const char* least = size["shortest_edge"].null() ? "min_pixels" : "shortest_edge";
    const char* greatest = size["longest_edge"].null() ? "max_pixels" : "longest_edge";
    p.least_pixels = in.number(size[least], p.least_pixels, 1, most);
    p.most_pixels = in.number(size[greatest], p.most_pixels, 1, most);
  }
  p.least_pixels = in.number(in.at("min_pixels"), p.least_pixels, 1, most);
  p.most_pixels = in.number(in.at("max_pixels"), p.most_pixels, 1, most);
  if (p.least_pixels > p.most_pixels)
    in.at(in.has("max_pixels") ? "max_pixels" : "size")
        .mismatch(concat({"at least the smallest number of pixels, ", p.least_pixels}), concat({p.most_pixels}));
  p.resizes = in.flag("do_resize", p.resizes);
  p.resample = in.resample(p.resample);
  in.scale(p.scale);
}

}  // namespace cke::image::detail

// SPDX-License-Identifier: MIT
// qwen_video.hpp: the video processors of Qwen2.5-VL, and of Qwen3-VL and Qwen3.5: frames as patches in space and time.
#pragma once

#include "qwen_blocks.hpp"

namespace cke::image {

// Which frames of a video to take is the caller's choice; these are the frames that transformers sampled.
struct qwen_video_processor {
  // Qwen2.5-VL counts the pixels of a frame, Qwen3-VL those of all frames.
  bool counts_frames = false;
  u32 patch = 14, temporal_patch = 2, merge = 2;
  u64 least_pixels = 128 * 28 * 28, most_pixels = 28 * 28 * 768;
  bool caps = false;  // cap_pixels_per_frame
  u64 most_tokens = 128'000;
  bool resizes = true;
  filter resample = filter::bicubic;
  // Video processors are torchvision's.
  pixel_scale scale{
      .mean = {0.48145466, 0.4578275, 0.40821073}, .std = {0.26862954, 0.26130258, 0.27577711}, .fused = true};

  static qwen_video_processor of_qwen3() {
    return {.counts_frames = true,
            .patch = 16,
            .least_pixels = 128 * 32 * 32,
            .most_pixels = 32 * 32 * 768,
            .most_tokens = 768,
            .scale = {.fused = true}};
  }

  // [grid_t * grid_h * grid_w, 3 * temporal_patch * patch * patch]. All frames have one size.
  pixels operator()(std::span<const picture> frames, const std::string& name) const {
    const u32 fewest = counts_frames ? temporal_patch : 1;
    if (frames.size() < fewest)
      throw Error(errc::config_range, name, "video", concat({"at least ", fewest, " frames"}),
                  concat({u64{frames.size()}}));
    const picture& first = frames[0];
    for (const picture& f : frames)
      if (f.width != first.width || f.height != first.height)
        detail::bad_shape(name, f, concat({"frames of one size, ", first.width, " x ", first.height}));
    const auto [height, width] = resizes
        ? size_for(first, frames.size(), name)
        : std::array{static_cast<double>(first.height), static_cast<double>(first.width)};
    if (!(height * width * static_cast<double>(frames.size()) <= 8 * static_cast<double>(detail::most_pixels)))
      detail::bad_shape(name, first, concat({"frames of at most ", 8 * detail::most_pixels, " pixels in all"}));
    std::vector<picture> sized;
    for (const picture& f : frames)
      sized.push_back(detail::resized(f, width, height, resample, name, resize_rule::torch));
    return detail::merge_blocks(*this, sized, name);
  }

 private:
  std::array<double, 2> size_for(const picture& first, u64 count, const std::string& name) const {
    double h = first.height, w = first.width;
    const double block = patch * merge;
    if (counts_frames && (h < block || w < block)) {
      const double up = std::max(block / h, block / w);
      h = std::trunc(h * up), w = std::trunc(w * up);
    }
    detail::check_aspect(first, h, w, name);
    const double n = static_cast<double>(count);
    const double frames = counts_frames ? n : 1,
                 rounded = counts_frames ? std::nearbyint(n / temporal_patch) * temporal_patch : 1;
    return detail::smart_resize(h, w, frames, rounded, block, static_cast<double>(least_pixels), greatest(count));
  }
  // The most pixels, of a frame or of all, with the cap on what one frame may cost.
  double greatest(u64 count) const {
    if (!caps) return static_cast<double>(most_pixels);
    const u64 block = u64{patch} * merge, floor = static_cast<u64>(static_cast<double>(least_pixels) * 1.05);
    if (counts_frames)
      return static_cast<double>(std::max(std::min(most_tokens * block * block, most_pixels / count), floor) * count);
    const u64 total = static_cast<u64>(static_cast<double>(most_tokens * block * block) * 0.9);
    return static_cast<double>(std::max(std::min(most_pixels, total * temporal_patch / count), floor));
  }
};

namespace detail {

inline void read(qwen_video_processor& p, config_reader& in) {
  read_blocks(p, in);
  p.caps = in.flag("cap_pixels_per_frame", p.caps);
  p.most_tokens = in.number(in.at("max_video_tokens"), p.most_tokens, 1, 1 << 28);
  // Which frames are taken, and what transformers hands back beside them.
  for (const char* key :
       {"video_processor_type", "do_sample_frames", "fps", "num_frames", "min_frames", "max_frames", "video_metadata",
        "return_metadata", "max_image_size", "max_duration", "use_token_compression"})
    in.at(key);
}

}  // namespace detail
}  // namespace cke::image

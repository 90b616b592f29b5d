// SPDX-License-Identifier: MIT
// gguf_processor.hpp: what the model of an mmproj file does with an image before its tower sees it.
#pragma once

#include "../io/gguf_vision.hpp"
#include "processor.hpp"

namespace cke::image {

namespace detail {

// Sizes of an mmproj file.
class gguf_sizes {
 public:
  explicit gguf_sizes(const io::gguf& file) : file_(file) {}

  u32 number(std::string_view key, u64 least, u64 most) const { return checked(key, file_.get<u64>(key), least, most); }
  u32 number_or(std::string_view key, u32 otherwise, u64 least, u64 most) const {
    return checked(key, file_.get_or<u64>(key, otherwise), least, most);
  }
  u32 side(std::string_view key) const { return number(key, 1, 1 << 12); }
  u32 patch() const { return number("clip.vision.patch_size", 1, 1024); }
  u32 merge(u32 otherwise, const char* key = "clip.vision.spatial_merge_size") const {
    return number_or(key, otherwise, 1, 64);
  }
  u32 pooled(u32 otherwise) const { return merge(otherwise, "clip.vision.projector.scale_factor"); }

  void scale(pixel_scale& s) const {
    s.mean = channels("clip.vision.image_mean"), s.std = channels("clip.vision.image_std");
    for (const double v : s.std)
      if (!(v > 0)) fail("clip.vision.image_std", "numbers above 0", "another");
    s.normalize = s.mean != std::array{0.0, 0.0, 0.0} || s.std != std::array{1.0, 1.0, 1.0};
  }
  [[noreturn]] void fail(std::string_view key, std::string_view wanted, std::string_view found) const {
    throw Error(errc::config_range, file_.file(), concat({"key ", key}), wanted, found);
  }

 private:
  u32 checked(std::string_view key, u64 v, u64 least, u64 most) const {
    if (v < least || v > most) fail(key, concat({"a number from ", least, " to ", most}), concat({v}));
    return static_cast<u32>(v);
  }
  std::array<double, 3> channels(std::string_view key) const {
    const std::vector<double> stored = file_.array<double>(key);
    if (stored.size() != 3) fail(key, "three numbers", concat({u64{stored.size()}}));
    return {stored[0], stored[1], stored[2]};
  }

  const io::gguf& file_;
};

}  // namespace detail

// The processor of an mmproj file: transformers' of that family. Where no key says a number, it is that of the family's
// published models; the pixels of Qwen's images are those that llama.cpp allows. Throws Error, which names file and
// key.
inline processor gguf_processor(const io::gguf& file) {
  const std::string_view name = io::projector_of(file).name;
  const detail::gguf_sizes sizes(file);
  const auto with_scale = [&](auto p) -> processor {
    sizes.scale(p.scale);
    return p;
  };
  if (name == "gemma3") {
    gemma3_processor p;
    p.height = p.width = sizes.side("clip.vision.image_size");
    return with_scale(p);
  }
  if (name == "gemma4v") {
    gemma4_processor p;
    p.patch = sizes.patch(), p.pool = sizes.pooled(p.pool);
    return with_scale(p);
  }
  if (name.starts_with("qwen")) {
    qwen2_vl_processor p;
    p.patch = sizes.patch(), p.merge = sizes.merge(2);
    constexpr u32 least_rows = 8, most_rows = 4096;
    const u64 block = u64{p.patch} * p.patch * p.merge * p.merge, most = detail::most_pixels;
    p.most_pixels = sizes.number_or("clip.vision.image_max_pixels", static_cast<u32>(std::min(most_rows * block, most)),
                                    block, most);
    p.least_pixels = sizes.number_or("clip.vision.image_min_pixels",
                                     static_cast<u32>(std::min(least_rows * block, p.most_pixels)), 1, p.most_pixels);
    return with_scale(p);
  }
  if (name == "idefics3") {
    idefics3_processor p;
    p.tile = sizes.side("clip.vision.image_size");
    p.longest_edge = sizes.number_or("clip.vision.preproc_image_size", p.tile, 1, 16384);
    return with_scale(p);
  }
  if (name == "lfm2") {
    lfm2_vl_processor p;
    p.patch = sizes.patch(), p.downsample = sizes.pooled(p.downsample);
    p.most_tiles = sizes.number_or("clip.vision.preproc_max_tiles", p.most_tiles, 1, 256);
    p.least_tiles = sizes.number_or("clip.vision.preproc_min_tiles", p.least_tiles, 1, p.most_tiles);
    if (p.tile % p.patch) sizes.fail("clip.vision.patch_size", concat({"a divisor of ", p.tile}), concat({p.patch}));
    return with_scale(p);
  }
  pixtral_processor p;
  p.most_height = p.most_width = sizes.side("clip.vision.image_size");
  p.patch_height = p.patch_width = sizes.patch(), p.merge = sizes.merge(1);
  return with_scale(p);
}

}  // namespace cke::image

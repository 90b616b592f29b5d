// SPDX-License-Identifier: MIT
// image_reader.hpp: files of images and videos as frames that a tower takes, and those in a model. Programs that
// include it link cke::image.
#pragma once

#include <charconv>
#include <mutex>

#include "any_vision.hpp"
#include "core/sha256.hpp"
#include "image/decode.hpp"
#include "image/processor.hpp"
#include "image/resize.hpp"

namespace cke {

// What a reader has to know of a tower.
struct tower_shape {
  u32 patch{}, merge = 1;                    // numbers of a patch; patches that are merged, along a side
  std::function<u32(patch_grid)> rows_of{};  // rows of features of a grid; throws usage
};

class image_reader {
 public:
  image_reader() = default;
  // `videos` reads the processor of videos when the first one comes; empty: the model takes none.
  image_reader(image::processor processor, tower_shape tower, image::decode_limits limits = {},
               std::function<image::qwen_video_processor()> videos = {})
      : processor_(std::move(processor)), tower_(std::move(tower)), limits_(limits), videos_(std::move(videos)) {}

  read_image read(std::span<const std::byte> file, const std::string& name, const read_options& options = {}) const {
    const frame_file alone{file, name};
    return read(image::process(processor_, decoded(file, name, options), name), name,
                key_of("image", {&alone, 1}, options));
  }
  // A tile of the outline, and a frame, for each group of frames that the tower merges.
  read_image read_video(std::span<const frame_file> files, const std::string& name, double per_second,
                        const read_options& options = {}) const {
    if (!videos_) throw Error(errc::usage, name, "video", "a model that takes videos", "one that takes images alone");
    if (!(per_second > 0 && per_second < 1e6))
      throw Error(errc::usage, name, "frames of a second", "more than 0, less than a million",
                  std::to_string(per_second));
    if (files.size() > most_frames)
      throw Error(errc::config_range, name, "video", concat({"at most ", most_frames, " frames"}),
                  concat({u64{files.size()}}));
    std::vector<image::picture> pictures;
    u64 pixels = 0;
    for (const frame_file& file : files) {
      const image::picture& last = pictures.emplace_back(decoded(file.bytes, file.name, options));
      if (const image::picture& first = pictures[0]; last.width != first.width || last.height != first.height)
        throw Error(errc::config_range, file.name, "frame", concat({first.width, " x ", first.height, " as the first"}),
                    concat({last.width, " x ", last.height}));
      if ((pixels += u64{last.width} * last.height) > most_pixels)
        throw Error(errc::config_range, name, "video", concat({"at most ", most_pixels, " pixels in all frames"}),
                    "more");
    }
    const image::qwen_video_processor how = videos_();
    read_image out = read(image::processed{.tiles = {how(pictures, name)}}, name, key_of("video", files, options));
    out.outline.interval = how.temporal_patch / per_second;
    for (std::size_t i = 0; i < files.size(); i += how.temporal_patch) {
      const std::size_t last = std::min(i + how.temporal_patch, files.size()) - 1;
      // As transformers has it: the last frame is repeated, and the middle is that of the first and the last.
      out.outline.seconds.push_back((static_cast<double>(i) / per_second + static_cast<double>(last) / per_second) / 2);
    }
    return out;
  }
  // The same of what a processor made already.
  read_image read(image::processed made, const std::string& name, image_key key) const {
    auto tiles = std::make_shared<const std::vector<image::pixels>>(std::move(made.tiles));
    read_image out{.name = name, .key = key, .outline = {.rows = made.rows, .cols = made.cols}};
    for (const image::pixels& tile : *tiles)
      for (const runtime::image_values& frame : frames_of(tile)) {
        const patch_grid grid = features_of(frame.grid);
        out.outline.tiles.push_back({grid.height, grid.width});
        out.frames.push_back(frame);
      }
    out.pixels = std::move(tiles);
    return out;
  }

  // The image in a model: encode(frame) gives features where find(key, grid) has none, and add(key, grid, features,
  // time) holds them. Each frame, or each line of its features, is an image to the model.
  template <class Encode, class Model> shown_image show(const read_image& image, const io::image_markup& markup,
                                                        const Encode& encode, const Model& model) const {
    shown_image out;
    u64 part = 0;
    for (const runtime::image_values& frame : image.frames) {
      const patch_grid whole = features_of(frame.grid);
      const u32 parts = markup.lines ? whole.height : 1;
      const frame_time time = time_of(image.outline, &frame - image.frames.data(), markup);
      const patch_grid grid{whole.height / parts, whole.width};
      std::vector<float> features;  // none before they are needed
      for (u32 p = 0; p < parts; ++p) {
        const image_key key{image.key.high + time.value_or(0), image.key.low + part++};
        held_image known = model.find(key, grid);
        if (!known.held) {
          if (features.empty()) features = encode(frame), ++out.encoded;
          const u64 numbers = features.size() / parts;
          known = model.add(key, grid, std::span<const float>(features).subspan(p * numbers, numbers), time);
        }
        out.parts.push_back(std::move(known));
      }
    }
    return out;
  }

 private:
  static constexpr u64 most_frames = 768, most_pixels = u64{1} << 29;  // of a video: 1.5 GiB in memory

  // transformers multiplies in float32, and rounds down.
  static frame_time time_of(const io::image_outline& image, std::ptrdiff_t frame, const io::image_markup& markup) {
    if (!image.is_video() || frame == 0 || !markup.time_step) return {};
    const float step = static_cast<float>(*markup.time_step) * static_cast<float>(image.interval);
    return static_cast<u32>(std::min(static_cast<float>(frame) * step, 1e9f));
  }

  image::picture decoded(std::span<const std::byte> file, const std::string& name, const read_options& options) const {
    image::picture picture = image::decode(file, name, limits_);
    const u32 longer = std::max(picture.width, picture.height);
    if (options.longest == 0 || longer <= options.longest) return picture;
    const auto side = [&](u32 of) { return std::max(1u, static_cast<u32>(u64{of} * options.longest / longer)); };
    return image::resize(picture, side(picture.width), side(picture.height), image::filter::bicubic);
  }
  // `kind`: a video of one frame has other features than its frame as an image.
  static image_key key_of(std::string_view kind, std::span<const frame_file> files, const read_options& options) {
    sha256 sum;
    std::string about = concat({" ", kind, " ", options.owner, " ", options.longest});
    for (const frame_file& file : files) {
      sum.add({reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()});
      about += concat({" ", u64{file.bytes.size()}});
    }
    sum.add(about);
    const std::string hex = sum.hex();
    image_key key;
    std::from_chars(hex.data(), hex.data() + 16, key.high, 16);
    std::from_chars(hex.data() + 16, hex.data() + 32, key.low, 16);
    return key;
  }

  // The frames of one tensor, each with its grid and its order of rows; they refer to it.
  std::vector<runtime::image_values> frames_of(const image::pixels& tile) const {
    std::vector<runtime::image_values> frames;
    if (tile.shape.size() == 3) {  // [channels, height, width]
      const u32 side = std::max(whole_root(tower_.patch / std::max(tile.shape[0], 1u)), 1u);
      frames.push_back({.grid = {tile.shape[1] / side, tile.shape[2] / side},
                        .pixels = tile.values,
                        .channels = tile.shape[0],
                        .height = tile.shape[1],
                        .width = tile.shape[2],
                        .side = side});
      return frames;
    }
    const patch_grid grid{tile.grid_h, tile.grid_w};
    // These processors leave patches in raster order, and padding after the last.
    const bool raster = std::holds_alternative<image::gemma4_processor>(processor_) ||
        std::holds_alternative<image::lfm2_vl_processor>(processor_);
    const u64 numbers = tile.shape.empty() ? 0 : u64{grid.patches()} * tile.shape.back(), all = tile.grid_t * numbers;
    if (all == 0 || (raster ? all > tile.values.size() : all != tile.values.size()))
      throw Error(errc::usage, {}, "patches", concat({all, " numbers, as the grid has"}),
                  concat({u64{tile.values.size()}}));
    for (u32 t = 0; t < tile.grid_t; ++t)
      frames.push_back({.grid = grid, .rows = std::span(tile.values).subspan(t * numbers, numbers), .raster = raster});
    return frames;
  }

  // The rows of features, in lines. A tower that does not merge squares, but pools or drops, has its rows in one line.
  patch_grid features_of(patch_grid grid) const {
    const u32 rows = tower_.rows_of(grid);
    const patch_grid merged{grid.height / tower_.merge, grid.width / tower_.merge};
    return merged.patches() == rows ? merged : patch_grid{1, rows};
  }

  image::processor processor_;
  tower_shape tower_;
  image::decode_limits limits_;
  std::function<image::qwen_video_processor()> videos_;
};

}  // namespace cke

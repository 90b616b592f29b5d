// SPDX-License-Identifier: MIT
// vision.cpp: cke vision: writes the features of images to a NumPy file.
#include <array>
#include <charconv>

#include "commands.hpp"
#include "npy.hpp"
#include "rooms.hpp"
#include "vision_model.hpp"

namespace cke::tool {
namespace {

// T,H,W: frames, and rows and columns of patches.
std::array<u32, 3> grid_of(const std::string& text) {
  std::array<u32, 3> grid{};
  const char *at = text.data(), *const end = at + text.size();
  for (u32 i = 0; i < 3; ++i) {
    const auto [next, failed] = std::from_chars(at, end, grid[i]);
    const bool last = i == 2, ends = last ? next == end : next != end && *next == ',';
    if (failed != std::errc{} || grid[i] == 0 || !ends)
      throw Error(errc::usage, {}, "--grid", "T,H,W: three numbers from 1 on", text);
    at = next + !last;
  }
  return grid;
}

// What a processor of another library made: [n, channels, height, width], perhaps as [1, n, ...], or rows of patches,
// perhaps as [1, n, numbers].
image::processed pixels_of(const vision_args& args) {
  npy_array array = read_npy(*args.pixels);
  if (array.shape.size() == 5 && array.shape[0] == 1) array.shape.erase(array.shape.begin());
  for (const u64 n : array.shape)
    if (n == 0 || n > 1u << 30)
      throw Error(errc::usage, *args.pixels, "shape", "numbers from 1 to 2^30", std::to_string(n));
  image::processed made;
  const auto at = [&](std::size_t i) { return static_cast<u32>(array.shape[i]); };
  if (array.shape.size() == 4) {
    const std::size_t each = array.values.size() / array.shape[0];
    for (u32 i = 0; i < at(0); ++i) {
      const auto one = std::span(array.values).subspan(i * each, each);
      made.tiles.push_back({.shape = {at(1), at(2), at(3)}, .values = {one.begin(), one.end()}});
    }
    return made;
  }
  const bool one = array.shape.size() == 3 && array.shape[0] == 1;
  if (array.shape.size() != 2 && !one)
    throw Error(errc::usage, *args.pixels, "shape", "[n, channels, height, width], [n, numbers] or [1, n, numbers]",
                std::to_string(array.shape.size()) + " dimensions");
  if (!args.grid) throw Error(errc::usage, {}, "--grid", "T,H,W, for rows of patches", "none");
  const auto [t, h, w] = grid_of(*args.grid);
  made.tiles.push_back(
      {.shape = {at(one), at(one + 1u)}, .values = std::move(array.values), .grid_t = t, .grid_h = h, .grid_w = w});
  return made;
}

}  // namespace

void vision(const vision_args& args) {
  if (!args.texts.empty()) return vision_scores(args);
  if (args.output.empty()) throw Error(errc::usage, {}, "--output", "a file, or --text", "neither");
  if (args.shown.files.empty() == !args.pixels)
    throw Error(errc::usage, {}, "--image", "image files, or --video, or --pixels", args.pixels ? "both" : "neither");
  const vision_model eyes(args.model, {}, args.pooled);
  std::vector<read_image> images;
  if (args.pixels) images.push_back(eyes.reader().read(pixels_of(args), *args.pixels, {}));
  for (const shown_file& file : args.shown.files) images.push_back(eyes.read(file, args.shown.fps));
  std::vector<std::vector<float>> features;
  u64 rows = 0;
  for (const read_image& image : images) {
    rows += image.rows();
    for (const auto& frame : image.frames) features.push_back(eyes.encode(frame));
  }
  npy_writer out(args.output, rows, eyes.width());
  for (const auto& f : features) out.row(f);
  out.close();
}

}  // namespace cke::tool

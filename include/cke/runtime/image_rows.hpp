// SPDX-License-Identifier: MIT
// image_rows.hpp: the rows of a tower's pass: patches of one image, their places, the keys and values of a layer.
#pragma once

#include <algorithm>
#include <span>

#include "../core/concat.hpp"
#include "../core/error.hpp"
#include "../core/operations.hpp"
#include "../core/plain_list.hpp"
#include "../kernels/kernel.hpp"
#include "arena.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// A grid of patches, in rows and columns.
struct patch_grid {
  u32 height{}, width{};
  constexpr u32 patches() const { return height * width; }
  constexpr bool operator==(const patch_grid&) const = default;
};
// A place in an image, or in a text whose images have places: all three are alike where it has none.
struct grid_position {
  u32 t{}, y{}, x{};
};
struct patch_place {
  u32 y{}, x{};
};
// The order of the rows of a pass: windows of `window` x `window` patches (0: the whole grid is one), squares of `side`
// x `side` patches in a window, patches in a square, each in raster order. Sides divide the grid's and the window's; at
// the right and at the bottom of the grid windows may be smaller.
struct patch_order {
  u32 side = 1, window{};

  struct area {
    patch_place from;
    patch_grid size;
    u32 first;  // row of the pass
  };
  // The window that row `row` is in.
  constexpr area window_of(patch_grid g, u32 row) const {
    if (window == 0) return {{}, g, 0};
    const u32 band = row / (window * g.width), y = band * window,
              height = g.height - y < window ? g.height - y : window;
    const u32 rest = row - y * g.width, nth = rest / (window * height), x = nth * window;
    return {{y, x}, {height, g.width - x < window ? g.width - x : window}, y * g.width + x * height};
  }
  constexpr patch_place place_of(patch_grid g, u32 row) const {
    const area in = window_of(g, row);
    const u32 at = row - in.first, square = at / (side * side), inside = at % (side * side);
    const u32 across = in.size.width / side;
    return {in.from.y + square / across * side + inside / side, in.from.x + square % across * side + inside % side};
  }
  // The number of the patch at a place, in the order without windows.
  constexpr u32 number_of(patch_grid g, patch_place at) const {
    const u32 square = at.y / side * (g.width / side) + at.x / side;
    return square * side * side + at.y % side * side + at.x % side;
  }
};

// An image as its processor leaves it: the patches in the order of the tower, or all pixels of a channel after another.
struct image_values {
  patch_grid grid;
  std::span<const float> rows{};    // [patches][numbers of a patch]: squares of merged patches after one another
  bool raster{};                    // the rows are in raster order instead
  std::span<const float> pixels{};  // [channels][height][width], if there are no rows; what no patch holds is not seen
  u32 channels{}, height{}, width{}, side{};  // of the pixels; side: of a patch

  // Row `number` of the rows, or the patch at a place of the pixels.
  void write(u32 number, patch_place at, float* to) const {
    if (!rows.empty()) {
      const u64 numbers = rows.size() / grid.patches();
      return void(std::copy_n(&rows[(raster ? at.y * grid.width + at.x : number) * numbers], numbers, to));
    }
    for (u32 c = 0; c < channels; ++c)
      for (u32 y = at.y * side; y < (at.y + 1) * side; ++y, to += side)
        std::copy_n(&pixels[(u64{c} * height + y) * width + u64{at.x} * side], side, to);
  }
  // Throws usage unless there are as many numbers as the grid needs, and `numbers` in each patch.
  void check(u64 numbers) const {
    const auto fail = [](std::string_view about, u64 want, u64 found, std::string_view of = " numbers") {
      throw Error(errc::usage, {}, about, concat({want, of}), concat({found}));
    };
    if (!rows.empty()) {
      if (rows.size() != numbers * grid.patches()) fail("rows of patches", numbers * grid.patches(), rows.size());
      return;
    }
    if (u64{channels} * side * side != numbers) fail("patch", numbers, u64{channels} * side * side);
    if (pixels.size() != u64{channels} * height * width) fail("pixels", u64{channels} * height * width, pixels.size());
    if (grid.height > height / side || grid.width > width / side)
      fail("grid of patches", u64{height / side} * (width / side), grid.patches(), " patches");
  }
};

// The keys and values of a tower's layer: blocks of `block` bytes for at most `most` rows. Each layer overwrites those
// of the one before it.
class image_cache {
 public:
  image_cache() = default;
  image_cache(arena& from, u64 block, u32 most) : pages_(from.take<std::byte*>(count(most))) {
    std::byte* const memory = from.take(block * count(most));
    for (u32 i = 0; i < count(most); ++i) pages_[i] = memory + i * block;
  }
  static constexpr u64 bytes(u64 block, u32 most) {
    return align_up(count(most) * sizeof(std::byte*)) + align_up(block * count(most));
  }
  std::byte* const* pages() const { return pages_; }

 private:
  static constexpr u32 count(u32 most) { return ceil_div(most, key_block); }
  std::byte** pages_{};
};

}  // namespace cke::runtime
CKE_COLD_END

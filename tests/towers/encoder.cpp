// SPDX-License-Identifier: MIT
// encoder.cpp: an image's features are the same bits for any threads and company, and wrong images are refused.
#include "checkpoint.hpp"
#include "cke/models/towers/qwen3_vl.hpp"
#include "cke/models/towers/siglip.hpp"
#include "refused.hpp"

using namespace cke;
using namespace towers;

namespace {

struct tiny_qwen : qwen3_vl_vision<qwen3_vl_vision_config{.dim = 24,
                                                          .hidden = 40,
                                                          .layers = 3,
                                                          .heads = 2,
                                                          .out = 32,
                                                          .patch = 4,
                                                          .positions = 25,
                                                          .deepstack = layer_set::of({0, 2})}> {};
struct tiny_square : siglip_vision<siglip_vision_config{
                         .dim = 40, .hidden = 56, .layers = 2, .heads = 2, .image = 32, .patch = 6, .eps = 1e-2}> {};

struct some_image {
  patch_grid grid;
  std::vector<float> rows;

  some_image(u32 height, u32 width, u32 seed)
      : grid{height, width}, rows(numbers::random_row(u64{height} * width * 96, seed)) {}
  image_values values() const {
    image_values v;
    v.grid = grid, v.rows = rows;
    return v;
  }
};
template <class E> std::vector<float> features(const E& e, const some_image& i) {
  std::vector<float> out(u64{E::rows_of(i.grid)} * E::width);
  e.encode(i.values(), out);
  return out;
}

// The message of the Error that f throws.
}  // namespace

TEST_CASE_TEMPLATE("encoder: the same bits for any number of threads, and after any other image", formats, F32, BF16,
                   Q8_0) {
  using encoder = ImageEncoder<tiny_qwen, formats>;
  const tiny_checkpoint tiny("qwen3_vl");
  // one square of patches, more rows than a tile, more than a block of keys
  const some_image all[]{{2, 2, 1}, {6, 10, 2}, {14, 22, 3}};
  std::vector<std::vector<float>> want;
  for (const some_image& i : all) {
    want.push_back(features(encoder::load(tiny.from, {.threads = 1}), i));
    CHECK(std::ranges::all_of(want.back(), [](float x) { return std::isfinite(x); }));
  }
  for (const u32 threads : {1u, 2u, 3u}) {
    CAPTURE(threads);
    const auto e = encoder::load(tiny.from, {.threads = threads, .patches = 60});
    for (const u32 n : {1u, 0u, 2u, 0u, 1u, 2u}) {
      CAPTURE(n);
      CHECK(numbers::same_bits(features(e, all[n]), want[n], encoder::width));
    }
  }
}

TEST_CASE("encoder: pixels and the patches cut from them give the same features") {
  using encoder = ImageEncoder<tiny_square, F32>;
  const tiny_checkpoint tiny("siglip");
  const auto pixels = tiny.expected("pixels.wide.png");
  const image_values whole = pixels_of(pixels, 6);
  std::vector<float> patches;
  for (u32 t = 0; t < 25; ++t) {
    patches.resize(patches.size() + 108);
    whole.write(t, {t / 5, t % 5}, &patches[u64{t} * 108]);
  }
  CHECK(patches[0] == pixels.values[0]);
  CHECK(patches[6] == pixels.values[32]);  // the second row of a patch is in the next row of pixels
  CHECK(patches[108 + 36] == pixels.values[32 * 32 + 6]);
  image_values cut;
  cut.grid = {5, 5}, cut.rows = patches;
  const auto e = encoder::load(tiny.from, {.threads = 1});
  std::vector<float> a(25 * encoder::width), b(a.size());
  e.encode(whole, a), e.encode(cut, b);
  CHECK(numbers::same_bits(a, b, encoder::width));
}

TEST_CASE("encoder: memory is planned for the largest image so far, and only then") {
  const auto e = ImageEncoder<tiny_qwen, F32>::load(tiny_checkpoint("qwen3_vl").from, {.threads = 1, .patches = 16});
  const u64 planned = e.activation_bytes();
  features(e, some_image(4, 4, 1));
  CHECK(e.activation_bytes() == planned);
  features(e, some_image(40, 40, 1));  // memory comes in pages of 2 MiB
  const u64 grown = e.activation_bytes();
  CHECK(grown > planned);
  features(e, some_image(2, 4, 1));
  CHECK(e.activation_bytes() == grown);
}

TEST_CASE("encoder: a wrong image is refused, with the numbers") {
  using encoder = ImageEncoder<tiny_qwen, F32>;
  using square = ImageEncoder<tiny_square, F32>;
  const tiny_checkpoint tiny("qwen3_vl"), other("siglip");
  const auto e = encoder::load(tiny.from, {.threads = 1});
  const auto s = square::load(other.from, {.threads = 1});
  const auto of_grid = [](patch_grid g) { return refused(errc::usage, [&] { encoder::rows_of(g); }); };
  CHECK(of_grid({0, 4}) == "grid of patches: expected 1 to 262144 patches, found 0 x 4");
  CHECK(of_grid({1 << 10, 1 << 10}) == "grid of patches: expected 1 to 262144 patches, found 1024 x 1024");
  CHECK(of_grid({1u << 31, 2}) == "grid of patches: expected 1 to 262144 patches, found 2147483648 x 2");
  CHECK(of_grid({4, 5}) == "grid of patches: expected rows and columns that are multiples of 2, found 4 x 5");
  CHECK(refused(errc::usage, [&] { square::rows_of({5, 4}); }) ==
        "grid of patches: expected 5 x 5, as the table of positions, found 5 x 4");

  some_image image(4, 4, 1);
  std::vector<float> out(4 * encoder::width);
  const auto encode = [&](const auto& by, const image_values& v) {
    return refused(errc::usage, [&] { by.encode(v, out); });
  };
  image.rows.pop_back();
  CHECK(encode(e, image.values()) == "rows of patches: expected 1536 numbers, found 1535");
  image.rows.push_back(0), out.pop_back();
  CHECK(encode(e, image.values()) == "features: expected 384 numbers, found 383");

  const std::vector<float> pixels(3 * 32 * 32);
  image_values v;
  v.grid = {5, 5}, v.pixels = pixels, v.channels = 3, v.height = 32, v.width = 32, v.side = 6;
  out.resize(25 * square::width);
  s.encode(v, out);
  v.side = 5;
  CHECK(encode(s, v) == "patch: expected 108 numbers, found 75");
  v.side = 6, v.height = 33;
  CHECK(encode(s, v) == "pixels: expected 3168 numbers, found 3072");
  v.height = 16, v.width = 64;
  CHECK(encode(s, v) == "grid of patches: expected 20 patches, found 25");
}

TEST_CASE("encoder: options that no machine has are refused") {
  const tiny_checkpoint tiny("siglip");
  const auto load = [&](const tower_options& o) {
    return refused(errc::config_range, [&] { ImageEncoder<tiny_square, F32>::load(tiny.from, o); });
  };
  CHECK(load({.patches = 1 << 20}) == "patches: expected at most 262144, found 1048576");
  CHECK(load({.threads = 100000}).starts_with("threads: expected at most"));
}

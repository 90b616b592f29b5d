// SPDX-License-Identifier: MIT
// features_of_tiles.cpp: the features of towers whose processor cuts an image into tiles, or whose patches have no
// table of positions, against transformers'.
#include "checkpoint.hpp"
#include "cke/models/towers/idefics3.hpp"
#include "cke/models/towers/lfm2_vl.hpp"
#include "cke/models/towers/pixtral.hpp"

using namespace cke;
using namespace towers;

namespace {

// The features of all tiles of an image, one after the other; values_of(pixels, tile) of each.
template <class M> void check_tiles(const tiny_checkpoint& tiny, auto grids_of, auto values_of) {
  using encoder = ImageEncoder<M, F32>;
  const auto e = encoder::load(tiny.from, {.threads = 2});
  for (const std::string image : images) {
    CAPTURE(image);
    const auto pixels = tiny.expected("pixels." + image), features = tiny.expected("features." + image);
    std::vector<float> got;
    u64 from = 0;
    for (const patch_grid g : grids_of(pixels, image)) {
      const image_values v = values_of(pixels, g, from);
      const u64 at = got.size();
      got.resize(at + u64{encoder::rows_of(g)} * encoder::width);
      e.encode(v, std::span(got).subspan(at));
    }
    REQUIRE(got.size() == features.values.size());
    CHECK(::numbers::distance(got, features.values, encoder::width) < 2e-5);
  }
}

constexpr idefics3_vision_config tiny_idefics3{
    .dim = 40, .hidden = 56, .layers = 2, .heads = 2, .image = 16, .patch = 4, .out = 32, .eps = 1e-2};
struct tiny_tiles : idefics3_vision<tiny_idefics3> {};
struct tiny_lfm2 : lfm2_vl_vision<lfm2_vl_vision_config{.dim = 40,
                                                        .hidden = 56,
                                                        .layers = 2,
                                                        .heads = 2,
                                                        .patch = 4,
                                                        .positions = 25,
                                                        .projected = 52,
                                                        .out = 32,
                                                        .eps = 1e-2}> {};
constexpr pixtral_vision_config tiny_pixtral_config{
    .dim = 36, .hidden = 44, .layers = 2, .heads = 3, .patch = 6, .out = 32, .theta = 100};
struct tiny_pixtral : pixtral_vision<tiny_pixtral_config> {};
constexpr pixtral_vision_config tiny_mistral3_config = [] {
  pixtral_vision_config c = tiny_pixtral_config;
  c.bias = false, c.merge = 2, c.eps = 1e-3;
  return c;
}();
struct tiny_mistral3 : mistral3_vision<tiny_mistral3_config> {};

void check_idefics3(kept as) {
  check_tiles<tiny_tiles>(
      tiny_checkpoint("idefics3", as),
      [](const auto& pixels, const std::string&) { return std::vector<patch_grid>(pixels.shape[1], {4, 4}); },
      [](const auto& pixels, patch_grid g, u64& from) {
        image_values v;
        v.grid = g, v.channels = 3, v.height = v.width = 16, v.side = 4;
        v.pixels = std::span(pixels.values).subspan(from, 768), from += 768;
        return v;
      });
}

void check_lfm2_vl(kept as) {
  const tiny_checkpoint tiny("lfm2_vl", as);
  const auto cases = nlohmann::json::parse(std::ifstream(tiny.folder + "/cases.json"));
  check_tiles<tiny_lfm2>(
      tiny,
      [&](const auto&, const std::string& image) {
        std::vector<patch_grid> all;
        for (const auto& tile : cases.at("images").at(image).at("tiles")) all.push_back({tile.at(0), tile.at(1)});
        return all;
      },
      [](const auto& pixels, patch_grid g, u64& from) {
        image_values v;
        v.grid = g, v.raster = true;
        v.rows = std::span(pixels.values).subspan(from, u64{g.patches()} * 48), from += u64{g.patches()} * 48;
        return v;
      });
}

}  // namespace

TEST_CASE("features: Idefics 3's tower, which is SmolVLM's too, of every tile of an image") {
  for (const kept as : both) check_idefics3(as);
}
TEST_CASE("features: LFM2-VL's tower, whose positions are resized to each tile") {
  for (const kept as : both) check_lfm2_vl(as);
}
TEST_CASE("features: Pixtral's tower, of any grid") {
  for (const kept as : both) check_pixels<tiny_pixtral>("pixtral", 6, as);
}
TEST_CASE("features: Mistral 3's tower, whose patches are merged column by column") {
  for (const kept as : both) check_pixels<tiny_mistral3>("mistral3", 6, as);
}

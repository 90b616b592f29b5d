// SPDX-License-Identifier: MIT
// features.cpp: the features of each family's tower against transformers', from the pixels that its processor makes.
#include "checkpoint.hpp"
#include "cke/models/towers/gemma3.hpp"
#include "cke/models/towers/gemma4.hpp"
#include "cke/models/towers/qwen2_5_vl.hpp"
#include "cke/models/towers/qwen3_5.hpp"

namespace features_test {

using namespace cke;
using towers::both;

constexpr siglip_vision_config tiny{
    .dim = 40, .hidden = 56, .layers = 2, .heads = 2, .image = 32, .patch = 6, .eps = 1e-2};
struct tiny_siglip : siglip_vision<tiny> {};
struct tiny_pooled : siglip_pooled<tiny> {};
TEST_CASE("features: SigLIP's tower, of a side that patches do not fill") {
  towers::check_pixels<tiny_siglip>("siglip", 6);
}

TEST_CASE("features: SigLIP's pooling head makes one row of an image") {
  using encoder = ImageEncoder<tiny_pooled, F32>;
  const towers::tiny_checkpoint of("siglip");
  const auto e = encoder::load(io::hf_vision(of.folder, io::tower_part::pooled), {.threads = 2});
  for (const std::string image : towers::images) {
    CAPTURE(image);
    const auto pixels = of.expected("pixels." + image), pooled = of.expected("pooled." + image);
    const image_values v = towers::pixels_of(pixels, 6);
    REQUIRE(encoder::rows_of(v.grid) == 1);
    std::vector<float> got(encoder::width);
    REQUIRE(got.size() == pooled.values.size());
    e.encode(v, got);
    CHECK(::numbers::distance(got, pooled.values, encoder::width) < 2e-5);
  }
  CHECK_THROWS_WITH_AS(encoder::rows_of({4, 5}),
                       "grid of patches: expected rows and columns that are multiples of 5, found 4 x 5", Error);
}

constexpr siglip_text_config tiny_words{
    .vocab = 73, .dim = 32, .hidden = 44, .layers = 2, .heads = 2, .positions = 12, .out = 40, .eps = 1e-3};
struct tiny_text : siglip_text<tiny_words> {};
TEST_CASE("features: SigLIP's tower of texts makes one row of a text") {
  using encoder = ImageEncoder<tiny_text, F32>;
  const towers::tiny_checkpoint of("siglip");
  const auto cases = nlohmann::json::parse(std::ifstream(of.folder + "/cases.json"));
  const auto pooled = of.expected("text_pooled");
  for (const u32 threads : {1u, 2u, 3u}) {
    const auto e = encoder::load(io::hf_vision(of.folder, io::tower_part::text), {.threads = threads});
    std::vector<float> got;
    for (const auto& ids : cases["text_ids"]) {
      const auto rows = ids.get<std::vector<float>>();
      std::vector<float> row(encoder::width);
      e.encode({.grid = {1, 12}, .rows = rows}, row);
      got.insert(got.end(), row.begin(), row.end());
    }
    REQUIRE(got.size() == pooled.values.size());
    CHECK(::numbers::distance(got, pooled.values, encoder::width) < 2e-5);
  }
  const auto e = encoder::load(io::hf_vision(of.folder, io::tower_part::text), {.threads = 1});
  std::vector<float> row(encoder::width), ids(12, 2.f);
  const auto found = [&](float id) {
    ids[3] = id;
    try {
      e.encode({.grid = {1, 12}, .rows = ids}, row);
    } catch (const Error& refused) { return std::string(refused.what()); }
    return std::string("taken");
  };
  CHECK(found(72) == "taken");
  CHECK(found(73) == "token id: expected a whole number below 73, found 73");
  CHECK(found(-2) == "token id: expected a whole number below 73, found -2");
  CHECK(found(2.5f) == "token id: expected a whole number below 73, found 2.5");
  CHECK(found(std::nanf("")).starts_with("token id: expected a whole number below 73, found "));
  CHECK_THROWS_WITH_AS(encoder::rows_of({1, 11}), "grid of patches: expected a multiple of 12, found 1 x 11", Error);
  CHECK_THROWS_WITH_AS(encoder::rows_of({3, 4}), "grid of patches: expected 1 x at most 12, found 3 x 4", Error);
}

struct tiny_qwen3_vl : qwen3_vl_vision<qwen3_vl_vision_config{.dim = 24,
                                                              .hidden = 40,
                                                              .layers = 3,
                                                              .heads = 2,
                                                              .out = 32,
                                                              .patch = 4,
                                                              .positions = 25,
                                                              .deepstack = layer_set::of({0, 2})}> {};
TEST_CASE("features: Qwen3-VL's tower, of any grid, with the layers that its decoder also sees") {
  for (const auto as : both) towers::check_rows<tiny_qwen3_vl>("qwen3_vl", as);
}

struct tiny_gemma3 : gemma3_vision<gemma3_vision_config{.dim = 40,
                                                        .hidden = 56,
                                                        .layers = 2,
                                                        .heads = 2,
                                                        .image = 30,
                                                        .patch = 5,
                                                        .tokens = 9,
                                                        .out = 32,
                                                        .eps = 1e-2}> {};
TEST_CASE("features: Gemma 3's tower, whose patches are pooled") {
  for (const auto as : both) towers::check_pixels<tiny_gemma3>("gemma3", 5, as);
}

constexpr gemma4_vision_config tiny_gemma4{.dim = 36,
                                           .hidden = 52,
                                           .layers = 2,
                                           .heads = 2,
                                           .kv_heads = 2,
                                           .head_dim = 20,
                                           .out = 32,
                                           .patch = 3,
                                           .pooled = 2,
                                           .positions = 150,
                                           .clipped = true,
                                           .eps = 1e-3};
constexpr gemma4_vision_config full_gemma4 = [] {
  gemma4_vision_config c = tiny_gemma4;
  c.clipped = false, c.standard = true;
  return c;
}();
struct clipped_gemma4 : gemma4_vision<tiny_gemma4> {};
struct standard_gemma4 : gemma4_vision<full_gemma4> {};
TEST_CASE("features: Gemma 4's tower, of any grid, with bounds on what its matrices read and leave") {
  for (const auto as : both) towers::check_rows<clipped_gemma4>("gemma4", as, true);
}
TEST_CASE("features: Gemma 4's tower of the larger models, with standardised features") {
  for (const auto as : both) towers::check_rows<standard_gemma4>("gemma4_full", as, true);
}

struct tiny_qwen3_5
    : qwen3_5_vision<qwen3_vl_vision_config{
          .dim = 24, .hidden = 40, .layers = 3, .heads = 2, .out = 32, .patch = 4, .positions = 36, .deepstack = {}}> {
};
TEST_CASE("features: Qwen3.5's tower") {
  for (const auto as : both) towers::check_rows<tiny_qwen3_5>("qwen3_5", as);
}

struct tiny_qwen2_5_vl : qwen2_5_vl_vision<qwen2_5_vl_vision_config{.dim = 24,
                                                                    .hidden = 40,
                                                                    .layers = 3,
                                                                    .heads = 2,
                                                                    .out = 40,
                                                                    .patch = 4,
                                                                    .window = 16,
                                                                    .full = layer_set::of({1})}> {};
TEST_CASE("features: Qwen2.5-VL's tower, whose layers see windows, some of them partial") {
  for (const auto as : both) towers::check_rows<tiny_qwen2_5_vl>("qwen2_5_vl", as);
}

}  // namespace features_test

// SPDX-License-Identifier: MIT
// checkpoint.hpp: a tiny checkpoint of tests/data/vision, or its mmproj file of tests/data/mmproj, and transformers'
// features of its images.
#pragma once

#include <doctest/doctest.h>

#include <cke/image_encoder.hpp>
#include <cke/io/gguf_vision.hpp>
#include <cke/io/hf_vision.hpp>
#include <cke/io/safetensors.hpp>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "../kernels/numbers.hpp"

namespace towers {

using namespace cke;

inline std::string folder_of(std::string_view name) { return CKE_TEST_DATA "/vision/" + std::string(name); }

// How files keep a tower.
enum class kept { directory, gguf };
inline constexpr kept both[] = {kept::directory, kept::gguf};

// The folder of an mmproj file with results of its own.
inline std::string model_of(std::string_view name) { return CKE_TEST_DATA "/mmproj/" + std::string(name); }
inline std::string mmproj_of(std::string_view name) {
  const std::string own = model_of(name) + "/mmproj-model.gguf";
  return std::ifstream(own) ? own : model_of(name) + ".gguf";
}

class tiny_checkpoint {
 public:
  explicit tiny_checkpoint(std::string_view name, kept as = kept::directory)
      : folder(as == kept::gguf && std::ifstream(model_of(name) + "/cases.json") ? model_of(name) : folder_of(name)),
        from(as == kept::gguf ? io::gguf_vision(mmproj_of(name)) : io::hf_vision(folder)),
        expected_(io::read_safetensors(folder + "/expected.safetensors")) {}

  struct numbers {
    std::vector<u64> shape;
    std::vector<float> values;
  };
  numbers expected(const std::string& name) const {
    const auto* const t = expected_.find(name);
    REQUIRE_MESSAGE(t, name);
    REQUIRE(t->type == dtype::f32);
    numbers n{{t->shape.begin(), t->shape.end()}, std::vector<float>(t->bytes.size() / sizeof(float))};
    std::memcpy(n.values.data(), t->bytes.data(), t->bytes.size());
    return n;
  }
  // Rows and columns of patches, where the checkpoint's processor counts them.
  patch_grid grid_of(const std::string& image) const {
    const auto all = nlohmann::json::parse(std::ifstream(folder + "/cases.json"));
    const auto grid = all.at("images").at(image).at("grid");
    return {grid.at(1), grid.at(2)};
  }

  const std::string folder;
  const io::checkpoint from;

 private:
  io::tensor_index expected_;
};
inline constexpr const char* images[] = {"wide.png", "tall.png", "clear.png"};

// What the processor made of an image: a channel of pixels after another, for patches of `side` x `side`.
inline image_values pixels_of(const tiny_checkpoint::numbers& n, u32 side) {
  const u64* const shape = &n.shape[n.shape.size() - 3];
  image_values v;
  v.pixels = n.values, v.channels = static_cast<u32>(shape[0]), v.side = side;
  v.height = static_cast<u32>(shape[1]), v.width = static_cast<u32>(shape[2]);
  v.grid = {v.height / side, v.width / side};
  return v;
}

// The features of every image are transformers', whose float32 is as far from its float64 as 3e-6.
template <class M> void check_features(const tiny_checkpoint& tiny, auto values_of) {
  using encoder = ImageEncoder<M, F32>;
  const auto e = encoder::load(tiny.from, {.threads = 2});
  for (const std::string image : images) {
    CAPTURE(image);
    const auto pixels = tiny.expected("pixels." + image), features = tiny.expected("features." + image);
    const image_values v = values_of(pixels, image);
    std::vector<float> got(u64{encoder::rows_of(v.grid)} * encoder::width);
    REQUIRE(got.size() == features.values.size());
    e.encode(v, got);
    CHECK(::numbers::distance(got, features.values, encoder::width) < 2e-5);
  }
}
template <class M> void check_pixels(std::string_view name, u32 side, kept as = kept::directory) {
  const tiny_checkpoint tiny(name, as);
  check_features<M>(tiny, [&](const auto& pixels, const std::string&) { return pixels_of(pixels, side); });
}
template <class M> void check_rows(std::string_view name, kept as, bool raster = false) {
  CAPTURE(int(as));
  const tiny_checkpoint tiny(name, as);
  check_features<M>(tiny, [&](const auto& pixels, const std::string& image) {
    image_values v;
    v.grid = tiny.grid_of(image), v.rows = pixels.values, v.raster = raster;
    return v;
  });
}

}  // namespace towers

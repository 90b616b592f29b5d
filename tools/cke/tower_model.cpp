// SPDX-License-Identifier: MIT
// tower_model.cpp: implements tower_model.hpp.
#include "tower_model.hpp"

#include "library_call.hpp"

namespace cke::tool {

tower_model::tower_model(std::shared_ptr<const library> door, const checkpoint& from, u32 threads)
    : door_(std::move(door)) {
  const std::vector<cke_tensor> tensors = c_tensors(from);
  const model_options options{.threads = threads};
  listeners all(from, options);
  c_options o(options);
  all.attach(o);
  cke_error error{};
  tower_ = check(
      door_->cke_tower_from_tensors(tensors.data(), tensors.size(), naming_of(from), from.name.c_str(), &o, &error),
      error, from.name);
}
tower_model::~tower_model() { door_->cke_tower_free(tower_); }

u32 tower_model::rows_of(patch_grid grid) const {
  cke_error error{};
  const u32 rows = door_->cke_tower_rows(tower_, grid.height, grid.width, &error);
  check(error.code, error);
  return rows;
}
std::vector<float> tower_model::encode(const runtime::image_values& image) const {
  std::vector<float> features(std::size_t{rows_of(image.grid)} * facts().width);
  const bool rows = !image.rows.empty();
  const cke_patches patches{image.grid.height,
                            image.grid.width,
                            rows ? image.rows.data() : nullptr,
                            image.raster,
                            rows ? nullptr : image.pixels.data(),
                            rows ? image.rows.size() : image.pixels.size(),
                            image.channels,
                            image.height,
                            image.width,
                            image.side};
  cke_error error{};
  check(door_->cke_tower_encode(tower_, &patches, features.data(), features.size(), &error), error);
  return features;
}

}  // namespace cke::tool

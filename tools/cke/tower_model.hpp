// SPDX-License-Identifier: MIT
// tower_model.hpp: the vision tower of a library.
#pragma once

#include <memory>
#include <vector>

#include <cke/io/checkpoint.hpp>
#include <cke/runtime/sequence.hpp>

#include "library.hpp"

namespace cke::tool {

// A vision tower, loaded through the C interface. Errors are those of ImageEncoder.
class tower_model {
 public:
  tower_model(std::shared_ptr<const library> door, const checkpoint& from, u32 threads);
  ~tower_model();
  tower_model(const tower_model&) = delete;
  tower_model& operator=(const tower_model&) = delete;

  cke_tower_facts facts() const { return door_->cke_tower_facts_of(tower_); }
  u32 rows_of(patch_grid grid) const;
  std::vector<float> encode(const runtime::image_values& image) const;  // [rows_of(image.grid)][width]

 private:
  std::shared_ptr<const library> door_;
  cke_tower* tower_;
};

}  // namespace cke::tool

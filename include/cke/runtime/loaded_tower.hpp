// SPDX-License-Identifier: MIT
// loaded_tower.hpp: a vision tower with its weights in memory.
#pragma once

#include <memory>
#include <mutex>

#include "executor.hpp"
#include "tower_options.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// Numbers of a row of features: of the last letters, then of each deepstack letter.
constexpr u32 feature_width(const program_data& tower) { return tower.vocab() + tower.beside_width(); }

// Immutable, except for the activations. One image is encoded at a time, by all threads.
class loaded_tower {
 public:
  // Of a tower. Throws config_range for the options, and what weights throws.
  loaded_tower(const compiled_program& m, const tensor_source& tensors, std::string_view file, naming as,
               std::span<const name_rule> names, const tower_options& o);

  // Nothing of a pass depends on a context: rows see those of their own image.
  static constexpr capacity capacity_for(u32 patches) { return {key_block, patches, patches}; }

  const compiled_program& compiled() const { return m_; }
  u64 weight_bytes() const { return packed_.bytes(); }
  u64 activation_bytes() const { return executor_ ? executor_->bytes() : 0; }
  u32 threads() const { return threads_.size(); }

  // Rows of features that a grid of patches becomes. Throws usage for a grid that the tower cannot take.
  static u32 rows_of(const program_data& tower, patch_grid g);

  // Writes the features of an image, [rows_of(grid)][feature_width]: those of the last letters, then those of the
  // deepstack letters in the order of their layers. Throws usage, and out_of_memory for an image larger than those
  // before.
  void encode(const image_values& image, std::span<float> features);

 private:
  void check_ids(std::span<const float> ids) const;
  void plan_for(u32 patches);

  const compiled_program& m_;
  const program_data& p_;
  team threads_;
  weights packed_;
  state_facts states_{};  // an image leaves none
  std::unique_ptr<executor<>> executor_;
  std::mutex busy_;
};

}  // namespace cke::runtime
CKE_COLD_END

#ifndef CKE_COMPILED
#include "loaded_tower-inl.hpp"
#endif
